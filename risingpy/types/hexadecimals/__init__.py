"""Types of a fixed number of bytes, shown as hexadecimal digits: a module of `forms.TypeForms` for each."""
