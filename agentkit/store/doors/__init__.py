"""The async methods of a store, by what they are about; `Store` is all of them together."""
