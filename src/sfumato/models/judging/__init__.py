"""What audits count with: classes, beliefs, links, randomized cells and rules, found in a release alone.

Nothing that makes a release may import from here; an import rule holds it.
"""
