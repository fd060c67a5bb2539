/**
 * What only Node has: a journal in a file.
 */
export { fileJournal, layerFile, type FileJournal } from "./FileJournal.ts"
