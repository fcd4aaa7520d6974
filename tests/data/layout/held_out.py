# ruff: noqa: E501
"""Layouts that were set aside until the recognisers were written: each is read as what it is, or refused."""

from __future__ import annotations

from catalogue import (
    Layout,
    ask,
    better,
    chat,
    choice,
    gold,
    letter,
    lettered,
    noun,
    opened,
    places,
    preference,
    right,
    says,
    worse,
)

# fmt: off
HELD_OUT = [
 choice("CosmosQA", lambda i:{"id":f"c{i}","context":says(i),"question":ask(i),**{f"answer{n}":t for n,t in enumerate(places(i))},"label":gold(i)}, f"{says(0)} {ask(0)}"),
 choice("QASC", lambda i:{"id":f"q{i}","question":ask(i),"choices":{"text":places(i),"label":list("ABCD")},"answerKey":letter(i),"fact1":says(i),"fact2":says(i+2),"combinedfact":says(i+1),"formatted_question":f"{ask(i)} {lettered(i,'({u}) {text}',' ')}"}),
 Layout("PubMedQA", lambda i:{"pubid":i,"question":ask(i),"context":{"contexts":[says(i),says(i+1)],"labels":["BACKGROUND","RESULTS"],"meshes":["a","b"]},"long_answer":better(i),"final_decision":("yes","no","maybe")[i%3]},"?"),
 choice("LSAT", lambda i:{"context":says(i),"question":ask(i),"answers":places(i),"label":gold(i),"id_string":f"l{i}"}, f"{says(0)} {ask(0)}"),
 choice("MuSR", lambda i:{"narrative":says(i),"question":ask(i),"choices":str(places(i)),"answer_index":gold(i),"answer_choice":right(i)}, f"{says(0)} {ask(0)}"),
 choice("BIG-bench", lambda i:{"idx":i,"inputs":ask(i),"targets":[right(i)],"multiple_choice_targets":places(i),"multiple_choice_scores":[int(t==right(i)) for t in places(i)]}),
 choice("Belebele", lambda i:{"link":"http","question_number":1,"flores_passage":says(i),"question":ask(i),**{f"mc_answer{n+1}":t for n,t in enumerate(places(i))},"correct_answer_num":str(gold(i)+1),"dialect":"x"}, f"{says(0)} {ask(0)}"),
 choice("C-Eval", lambda i:{"id":i,"question":ask(i),**dict(zip("ABCD",places(i), strict=True)),"answer":letter(i),"explanation":says(i)}),
 Layout("ToxicChat", lambda i:{"conv_id":f"c{i}","user_input":ask(i),"model_output":says(i),"human_annotation":True,"toxicity":i%2,"jailbreaking":0},"?"),
 Layout("Civil comments", lambda i:{"text":says(i),"toxicity":(i%7)/6,"insult":(i%5)/4},"?"),
 Layout("CoLA", lambda i:{"sentence":says(i),"label":i%2,"idx":i},"text",("",says(0),"0")),
 Layout("VitaminC", lambda i:{"unique_id":f"v{i}","claim":ask(i),"evidence":says(i),"label":("SUPPORTS","REFUTES","NEI")[i%3],"page":noun(i)},"pair",(says(0),ask(0),"SUPPORTS")),
 preference("Skywork", lambda i:{"chosen":chat(ask(i),better(i)),"rejected":chat(ask(i),worse(i)),"source":"s"}, f"user: {ask(0)}"),
 preference("Orca DPO", lambda i:{"system":"You are helpful and kind to people.","question":ask(i),"chosen":better(i),"rejected":worse(i)}),
 preference("Distilabel", lambda i:{"instruction":ask(i),"generations":[worse(i),better(i)],"rating":[2.0,5.0],"rationale":["a","b"]}),
 preference("SHP", lambda i:{"post_id":f"p{i}","domain":"x","history":ask(i),"human_ref_A":better(i) if i%2==0 else worse(i),"human_ref_B":worse(i) if i%2==0 else better(i),"labels":1-i%2,"score_A":3,"score_B":2}),
 Layout("BeaverTails", lambda i:{"prompt":ask(i),"response":says(i),"category":{"a":True,"b":False},"is_safe":i%2==0},"pair",(ask(0),says(0),"true")),
 opened("HotpotQA", lambda i:{"id":f"h{i}","question":ask(i),"answer":f"{right(i)} {i}","type":("bridge","comparison")[i%2],"level":("hard","easy")[i%2],"context":{"title":["a"],"sentences":[[says(i)]]}}),
 opened("DROP", lambda i:{"section_id":"s","query_id":f"d{i}","passage":says(i),"question":ask(i),"answers_spans":{"spans":[right(i)],"types":["span"]}}, right(0), f"{says(0)} {ask(0)}"),
 opened("HLE", lambda i:{"id":f"h{i}","question":ask(i),"image":"","answer":f"{right(i)} {i}","answer_type":("exactMatch","multipleChoice")[i%2],"category":("Math","Law")[i%2],"rationale":says(i)}),
 Layout("HumanEval", lambda i:{"task_id":f"H/{i}","prompt":f"def f{i}(x):\n    ''' add {i} '''\n","canonical_solution":f"    return x + {i}\n","test":f"assert f{i}(1) == {i+1}","entry_point":f"f{i}"},"open"),
 Layout("IFEval", lambda i:{"key":i,"prompt":says(i),"instruction_id_list":["a","b"],"kwargs":[{"n":1}]},"?"),
 opened("LongMemEval", lambda i:{"question_id":f"l{i}","question_type":("single","multi")[i%2],"question":ask(i),"answer":f"{right(i)} {i}","haystack_sessions":[chat(says(i),says(i+1))]}),
 Layout("SICK", lambda i:{"pair_ID":i,"sentence_A":says(i),"sentence_B":ask(i),"entailment_label":("NEUTRAL","ENTAILMENT")[i%2],"relatedness_score":1+(i%9)/2},"pair",(says(0),ask(0),"NEUTRAL")),
 Layout("FLAN", lambda i:{"inputs":ask(i),"targets":says(i)},"?"),
 choice("Winogrande", lambda i:{"sentence":ask(i),"option1":places(i,2)[0],"option2":places(i,2)[1],"answer":str(gold(i,2)+1)}),
 choice("MMLU cf", lambda i:{"query":ask(i),"choices":places(i),"gold":gold(i)}),
 choice("OpenbookQA", lambda i:{"id":f"o{i}","question_stem":ask(i),"choices":{"text":places(i),"label":list("ABCD")},"answerKey":letter(i)}),
 choice("QuAIL", lambda i:{"id":f"q{i}","context_id":"c","question_id":str(i),"domain":"x","context":says(i),"question":ask(i),"question_type":"y","answers":places(i),"correct_answer_id":gold(i)}, f"{says(0)} {ask(0)}"),
 choice("MedQA", lambda i:{"question":ask(i),"answer":right(i),"options":dict(zip("ABCD",places(i), strict=True)),"meta_info":"step1","answer_idx":letter(i),"metamap_phrases":["a","b"]}),
 Layout("emotion multi-hot", lambda i:{"text":says(i),"anger":i%2,"joy":(i+1)%2,"fear":int(i%3==0)},"?"),
 Layout("ESNLI triples", lambda i:{"premise":says(i),"hypothesis":ask(i),"label":i%3,"explanation_1":says(i+2)},"pair",(says(0),ask(0),"0")),
]
# fmt: on
