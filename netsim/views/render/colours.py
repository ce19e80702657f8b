"""Colours of what has the same one in every figure and on every page."""

OUTCOMES = {
    "delivered": "#0072b2",
    "partial": "#7fc4ec",
    "outage": "#d55e00",
    "retries": "#e69f00",
    "deadline": "#cc79a7",
    "collision": "#f0e442",
    "busy": "#009e73",
    "off": "#8c8c8c",
    "asleep": "#5b3f8c",
    "withdrawn": "#882255",
    "arrived, not used": "#b8a38a",
}
STATES = {
    "train": "#d55e00",
    "compute": "#f0a868",
    "transmit": "#0072b2",
    "receive": "#7fc4ec",
    "wait": "#c9ced6",
    "asleep": "#5b3f8c",
    "off": "#4d5560",
}
FATES = OUTCOMES | {
    "arrived": OUTCOMES["delivered"],
    "used": "#0072b2",
    "arrived without a model": "#7fc4ec",
    "arrived, used too late or not at all": OUTCOMES["arrived, not used"],
    "all attempts lost": OUTCOMES["retries"],
    "receiver busy": OUTCOMES["busy"],
    "receiver off": OUTCOMES["off"],
    "receiver asleep": OUTCOMES["asleep"],
    "too late": OUTCOMES["deadline"],
    "withdrawn by its sender": OUTCOMES["withdrawn"],
}
COLOURS_OF = {"outcomes": OUTCOMES, "states": STATES}
