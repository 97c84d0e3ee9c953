// Package catalog holds the hidden tools of an agent: their names, search, hints, contracts and namespaces.
package catalog
