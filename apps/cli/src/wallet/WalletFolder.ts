/** Where this program keeps its wallets and its journal: `PONTAGE_HOME`, by default `.pontage` in the home folder. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"

import { unusableWallet } from "../CommandFailed.ts"
import * as Keystore from "./Keystore.ts"

/** The folder, made with access for its owner alone if it is missing. */
export const home = (): string => {
  const folder = resolve(process.env["PONTAGE_HOME"] || join(homedir(), ".pontage"))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** The journal of payments. */
export const journalPath = (): string => join(home(), "journal.jsonl")

const wallets = (): string => join(home(), "wallets")

/** A wallet's file. */
export interface StoredWallet {
  readonly name: string
  readonly path: string
  readonly keystore: Keystore.Keystore
}

const longestFile = 64 * 1024

/** The text of a key's file, of at most 64 KiB. Fails with the path and the reason, never with content. */
export const readSecretFile = (path: string): string => {
  try {
    const { size } = statSync(path)
    if (size > longestFile) throw new Error(`it has ${size} bytes, more than any key`)
    return readFileSync(path, "utf8")
  } catch (error) {
    throw unusableWallet(`the key file ${path} cannot be read: ${error instanceof Error ? error.message : "unknown"}`)
  }
}

const read = (path: string, name: string): StoredWallet => {
  const keystore = Keystore.fromText(readSecretFile(path))
  if (keystore === undefined)
    throw unusableWallet(`${path} is no keystore (Web3 Secret Storage 3, scrypt, AES-128-CTR)`)
  return { name, path, keystore }
}

/** All wallets, by name. */
export const list = (): ReadonlyArray<StoredWallet> => {
  mkdirSync(wallets(), { recursive: true, mode: 0o700 })
  return readdirSync(wallets())
    .filter((file) => file.endsWith(".json"))
    .toSorted()
    .map((file) => read(join(wallets(), file), file.slice(0, -".json".length)))
}

const nameGrammar = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Writes a new wallet; never over another one. Returns its path. */
export const add = (name: string, keystore: Keystore.Keystore): string => {
  if (!nameGrammar.test(name)) throw unusableWallet(`"${name}" is no name for a wallet: use letters, digits, . _ -`)
  mkdirSync(wallets(), { recursive: true, mode: 0o700 })
  const path = join(wallets(), `${name}.json`)
  try {
    writeFileSync(path, `${JSON.stringify(keystore, null, 2)}\n`, { flag: "wx", mode: 0o600 })
  } catch (error) {
    const reason = error instanceof Error && "code" in error && error.code === "EEXIST" ? "it exists already" : error
    throw unusableWallet(`the wallet ${path} cannot be written: ${String(reason)}`)
  }
  return path
}
