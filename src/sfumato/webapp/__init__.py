"""The local web app: pages, forms and jobs for holders who do not write code. It knows no rule of its own."""
