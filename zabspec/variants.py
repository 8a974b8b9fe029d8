VARIANTS: dict = {}
def overrides(name):
    return {}
