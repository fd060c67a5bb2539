/**
 * What only browsers have: a journal in IndexedDB.
 */
export { indexedDbJournal, layerIndexedDb } from "./IndexedDbJournal.ts"
