/** The parts for browsers only: a journal in IndexedDB. */
export { indexedDbJournal, layerIndexedDb } from "./IndexedDbJournal.ts"
