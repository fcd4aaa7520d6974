"""The app under load: many users browse a large card while audits run."""
