/**
 * The hash of typed data (EIP-712) of any structure, for accounts that sign the hash inside a structure of their own. The types are
 * those that this package signs: structures, addresses, whole numbers, bytes of fixed length, bytes, texts and flags.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"

import * as TypedDigest from "../crypto/TypedDigest.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type { TypedData } from "./EvmSigner.ts"

type Types = TypedData["types"]

const domainTypes = { name: "string", version: "string", chainId: "uint256", verifyingContract: "address" } as const

/** The 32 bytes that a plain account would sign; throws for a type or a value that is none of the known ones. */
export const of = ({ domain, message, primaryType, types }: TypedData): Uint8Array => {
  const fields = Object.entries(domainTypes)
    .filter(([name]) => Reflect.get(domain, name) !== undefined)
    .map(([name, type]) => ({ name, type }))
  const separator = structHash({ EIP712Domain: fields }, "EIP712Domain", { ...domain })
  return TypedDigest.of(separator, structHash(types, primaryType, message))
}

const structHash = (types: Types, name: string, value: Readonly<Record<string, unknown>>): string => {
  const words = (types[name] ?? []).map(({ name, type }) => wordOf(types, type, value[name]))
  return TypedDigest.wordsHash(TypedDigest.textHash(typeText(types, name)) + words.join(""))
}

/** The type as EIP-712 writes it: itself first, and then the structures in it by their names. */
const typeText = (types: Types, name: string): string => {
  const found = new Set<string>()
  const find = (one: string) => {
    if (found.has(one) || types[one] === undefined) return
    found.add(one)
    for (const { type } of types[one]) find(type)
  }
  find(name)
  found.delete(name)
  return [name, ...[...found].toSorted()]
    .map((one) => `${one}(${(types[one] ?? []).map(({ name, type }) => `${type} ${name}`).join(",")})`)
    .join("")
}

const wordOf = (types: Types, type: string, value: unknown): string => {
  if (types[type] !== undefined && typeof value === "object" && value !== null) {
    return structHash(types, type, Object.fromEntries(Object.entries(value)))
  }
  if (type === "string" && typeof value === "string") return TypedDigest.textHash(value)
  if (type === "bytes" && EvmHex.isHex(value)) return EvmHex.fromBytes(keccak_256(EvmHex.toBytes(value))).slice(2)
  if (type === "address" && EvmHex.isHex(value) && value.length === 42)
    return value.slice(2).toLowerCase().padStart(64, "0")
  if (/^bytes\d+$/.test(type) && EvmHex.isHex(value) && value.length === 2 + 2 * Number(type.slice(5))) {
    return value.slice(2).toLowerCase().padEnd(64, "0")
  }
  if (/^uint\d+$/.test(type) && (typeof value === "bigint" || typeof value === "number") && value >= 0) {
    return EvmHex.toWord(value)
  }
  if (type === "bool" && typeof value === "boolean") return EvmHex.toWord(value ? 1 : 0)
  throw new Error(`typed data: expected a value of the type ${type}, got ${typeof value}`)
}
