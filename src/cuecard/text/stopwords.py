"""Stop words: the function words of a language, which say little about what a text is about."""

from __future__ import annotations

from cuecard.errors import UsageError


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list written as text."""
    return frozenset(text.split())


_ENGLISH = word_set("""
    a an the this that these those
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    who whom whose which what
    am is are was were be been being have has had having do does did doing done
    will would shall should can could may might must ought
    and or but nor if because as until while although though since unless than so
    of at by for with about against between into through during before after above below to from up down in
    out on off over under onto upon within without toward towards
    again further then once here there when where why how
    all any both each few more most other some such no not only own same too very just now also
    s t d m ll re ve y o n't 's 'm 'd 'll 're 've
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't
    can't cannot couldn't mustn't mightn't needn't
    isnt arent wasnt werent hasnt havent hadnt doesnt dont didnt wont wouldnt shant shouldnt cant couldnt
    mustnt
    i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd i'll
    you'll he'll she'll it'll we'll they'll
    im youre hes shes theyre ive youve weve theyve youd hed theyd youll itll theyll
""")

_GERMAN = word_set("""
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner dieser diese dieses
    diesen diesem jener jene jeder jede jedes alle alles und oder aber denn sondern sowie weil wenn ob dass daß als wie
    da damit obwohl während bevor nachdem bis nicht nur noch auch schon sehr mehr so doch ja nein nie immer hier dort
    dann nun jetzt wo wer was wen wem wann warum ich mich mir du dich dir er ihn ihm sie es wir uns ihr euch ihnen sich
    man mein meine dein deine sein seine seinen seinem seiner ihre ihren ihrem ihrer unser unsere euer eure bin bist ist
    sind seid war warst waren wäre habe hast hat haben hatte hatten wird werden wurde wurden würde worden kann können
    konnte konnten muss müssen musste soll sollen sollte will wollen wollte darf dürfen mag möchte
    in im ins an am ans auf aus bei beim mit nach von vom vor zu zum zur über unter für durch gegen ohne um zwischen
""")
_FRENCH = word_set("""
    le la les l un une des du de d au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur
    leurs je j tu il elle on nous vous ils elles me m te t se s lui y en moi toi soi eux qui que qu quoi dont où lequel
    laquelle et ou mais donc or ni car si comme quand lorsque puisque parce ne n pas plus jamais rien aucun aucune
    est sont était étaient être été suis es sommes êtes sera serait soit ai as a avons avez ont avait avaient avoir eu
    aura fait faire peut peuvent pouvait doit dans sur sous avec sans pour par vers chez entre avant après depuis
    pendant contre très aussi bien encore même tout toute tous toutes autre autres c'est d'un d'une qu'il qu'elle qu'on
    n'est n'a l'on j'ai s'est c'était n'y il là ici
""")
_SWAHILI = word_set("""
    na ya wa kwa ni katika za la cha vya kuwa hii hiyo huo hilo hizi hizo huyu hao hawa huu hiki hicho yake wake zake
    lake chake yangu wangu yako wako wetu yetu yao wao yeye mimi sisi wewe nyinyi kama lakini au si pia sana tu bila
    baada kabla hivyo kila hakuna ambayo ambao ambaye hata bado tena kwamba ili ila basi ndiyo hapana hapo huko pale
    ilikuwa alikuwa walikuwa zilikuwa nilikuwa tulikuwa ana wana nina una kuna mwa pa kutoka hadi mpaka juu chini ndani
""")
_CHINESE = word_set("""
    的 了 在 是 我 你 他 她 它 我们 你们 他们 她们 它们 们 这 那 这个 那个 这些 那些 这里 那里 哪 什么 谁 怎么 怎样
    有 没有 没 不 不是 也 都 就 才 还 又 再 很 太 更 最 和 与 跟 同 及 或 或者 但 但是 而 而且 因为 所以 如果 虽然
    被 把 从 对 对于 为 为了 向 往 到 由 于 以 之 其 所 着 过 地 得 吗 呢 吧 啊 会 能 可以 可 要 应该 一个 一些 个
    上 下 中 里 时 时候 自己 一 一样 就是 只 只是 只有 已 已经 正在 将 并 并且 则 等
""")

#: A few very frequent words per language, enough to tell languages apart.
FREQUENT_WORDS: dict[str, frozenset[str]] = {
    "en": _ENGLISH,
    "de": word_set("""
        der die das den dem des ein eine einen einem einer und oder aber nicht ist sind war waren hat haben
        wird werden ich du er sie es wir ihr mit von zu zum zur auf aus bei nach über für als auch sich dass
        wie nur noch
    """),
    "fr": word_set("""
        le la les un une des du de et ou mais ne pas est sont était étaient être avoir je tu il elle nous
        vous ils elles ce cette ces dans sur avec pour par que qui où au aux son sa ses leur plus il c'est
        d'un d'une qu'il
    """),
    "es": word_set("""
        el la los las un una unos unas y o pero no es son era eran fue ser estar está yo tú él ella nosotros
        ellos de del al en con por para que quien como más su sus se lo le les este esta muy también había
        hay
    """),
    "it": word_set("""
        il lo la gli le un uno una e o ma non è sono era erano essere avere io tu lui lei noi voi loro di
        del della dei delle nel nella con per che chi come più si anche questo questa su dal dalla alla al
        ha hanno
    """),
    "pt": word_set("""
        o os as um uma uns umas e ou mas não é são era eram foi ser estar está eu tu ele ela nós eles elas
        de do da dos das em no na nos nas com por para que quem como mais seu sua se também este esta ao à
        muito
    """),
    "nl": word_set("""
        de het een en of maar niet is zijn was waren heeft hebben wordt worden ik je jij hij zij wij van
        voor met op aan uit bij naar over als ook dat die deze dit er nog wel te om zich geen
    """),
    "sw": word_set("""
        na ya wa kwa ni katika za la cha kuwa hii hiyo huo hilo yake wake kama lakini au si pia sana
        watu mtu
        alikuwa walikuwa ilikuwa hakuna kila wao yeye mimi sisi wewe baada kabla hivyo tu bila moja
    """),
    "tr": word_set("""
        ve bir bu da de için ile çok daha gibi ama değil var yok olan olarak ne o ben sen biz siz
        onlar şu her
        kadar sonra önce veya mi mı ki en
    """),
    "vi": word_set("""
        và của là có không được một những các cho này đã với trong người tôi bạn anh chị họ nó để khi thì
        đó ở từ ra rất nhiều như nhưng cũng
    """),
    "id": word_set("""
        dan yang di ke dari ini itu dengan untuk tidak adalah pada dalam akan ada saya kamu dia mereka kami
        kita oleh sebagai atau juga karena seorang bisa lebih telah sudah
    """),
    "pl": word_set("""
        i w na z do nie się jest są był była było być to że o jak ale po co tak za od przez dla już tylko
        ten ta te jego jej ich on ona oni który która które
    """),
}

#: Function words of languages that are recognised by their script.
_BY_SCRIPT = {
    "ar": word_set("""
        في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين أن إن كان كانت يكون لم لن لا ما هو هي هم
        هن أنا نحن أنت
        و أو ثم قد كل بعد قبل بين حتى عند كما لكن إذا أي غير فقط أيضا هناك
    """),
    "bg": word_set("""
        и в на с за от до по при без да не е са беше бяха бъде ще се си го я ги той тя то те аз ти
        ние вие този тази
        това тези който която което които че ако като но или а само още също много има няма
    """),
    "el": word_set("""
        ο η το οι τα του της των τον την τους τις ένας μια ένα και ή αλλά να θα δεν μην είναι ήταν
        έχει έχουν σε στο στη
        στην στον στα με για από που πως ότι αν όταν όπως αυτό αυτός αυτή αυτά εγώ εσύ εμείς πολύ πιο μόνο
    """),
    "fa": word_set("""
        و در به از که این آن را با برای است بود شد می هم یک تا بر یا اما اگر نیز هر خود ما شما آنها
        آنان او من تو
        ایشان بودند شده کرد کرده دارد داشت باشد نمی نیست نه هیچ همه پس پیش بین روی چه چون ولی
    """),
    "hi": word_set("""
        का के की को में से पर ने है हैं था थी थे हो होता और या लेकिन नहीं न यह वह ये वे मैं हम तुम
        आप उस इस उन इन एक कि
        जो तो भी ही कर लिए साथ बाद तक कुछ बहुत
    """),
    "ja": word_set("""
        の に は を た が で て と し れ さ ある いる も する から な こと として い や など なっ
        ない この ため その あっ よう
        また もの という あり まで られ なる へ か だ これ によって により おり より による ず なり
        です ます
    """),
    "ko": word_set("""
        은 는 이 가 을 를 에 의 도 와 과 로 다 에서 으로 하고 그리고 그러나 그 저 것 수 등 및 또는
        있다 없다 하다 이다
    """),
    "ru": word_set("""
        и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее
        мне было вот от меня еще
        нет о из ему когда даже ну ли если уже или ни быть был него до вас нибудь уж вам ведь там
        потом себя ничего ей они
        тут где есть надо ней для мы тебя их чем была сам чтоб без чего раз тоже себе под будет это
        этот эта эти
    """),
    "th": word_set("""
        ที่ และ ใน การ เป็น ของ ไม่ มี ได้ ให้ ว่า จะ ไป มา กับ แต่ หรือ นี้ นั้น ก็ โดย จาก คือ
        อยู่ ความ ซึ่ง เขา เธอ ฉัน เรา
    """),
    "uk": word_set("""
        і й та в у на з із до не що як а але або це цей ця ці той він вона воно вони я ти ми ви його
        її їх для від за по при
        про так теж тільки ще вже є був була було були бути якщо коли де
    """),
    "ur": word_set("""
        کا کے کی کو میں سے پر نے ہے ہیں تھا تھی تھے ہو اور یا لیکن نہیں نہ یہ وہ میں ہم تم آپ اس ان
        ایک کہ جو تو بھی ہی کر
        لیے ساتھ بعد تک کچھ بہت
    """),
}


#: Function words by language; where there is no list of their own, the most frequent ones.
STOP_WORDS: dict[str, frozenset[str]] = (
    FREQUENT_WORDS
    | _BY_SCRIPT
    | {
        "en": _ENGLISH,
        "de": _GERMAN,
        "fr": _FRENCH,
        "sw": _SWAHILI,
        "zh": _CHINESE,
    }
)


def stop_words(language: str = "en") -> frozenset[str]:
    """Return the function words of a language, lower-cased, in all spellings the tokenisers give them."""
    if language not in STOP_WORDS:
        raise UsageError(
            f"There is no list of stop words for the language {language!r}, only for {', '.join(sorted(STOP_WORDS))}: "
            "leave --no-stop-words out, or name the language with --language if it was detected wrongly."
        )
    return STOP_WORDS[language]
