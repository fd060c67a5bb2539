/** The part for Node only: a journal in a file. */
export { fileJournal, layerFile, type FileJournal } from "./FileJournal.ts"
