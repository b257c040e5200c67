def make(name, folder): pass
