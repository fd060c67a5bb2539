/**
 * A key in a file, encrypted with a password: Web3 Secret Storage, version 3, which other wallets read and write. The key comes from
 * the password by scrypt, the cipher is AES-128-CTR, and a keccak digest tells a wrong password. The cipher is Node's, the digests are Noble's.
 */
import { createCipheriv, createDecipheriv, randomBytes, randomUUID, timingSafeEqual } from "node:crypto"

import { scryptAsync } from "@noble/hashes/scrypt.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import { unusableWallet } from "../CommandFailed.ts"
import * as ChainFamily from "./ChainFamily.ts"

const hex = (bytes: number) => Schema.String.check(Schema.isPattern(new RegExp(`^[0-9a-fA-F]{${bytes * 2}}$`)))
const within = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Keystore = Schema.Struct({
  version: Schema.Literal(3),
  id: Schema.optionalKey(Schema.String),
  address: Schema.String.check(Schema.isMaxLength(100)),
  crypto: Schema.Struct({
    cipher: Schema.Literal("aes-128-ctr"),
    cipherparams: Schema.Struct({ iv: hex(16) }),
    ciphertext: hex(32),
    kdf: Schema.Literal("scrypt"),
    kdfparams: Schema.Struct({
      dklen: Schema.Literal(32),
      // Bounded: a foreign file must not take all memory of this machine.
      n: within(2, 2 ** 20),
      r: within(1, 32),
      p: within(1, 16),
      salt: Schema.String.check(Schema.isPattern(/^(?:[0-9a-fA-F]{2}){8,64}$/))
    }),
    mac: hex(32)
  }),
  /** Beyond the format: the family of chains, and the public key where an address does not give it (TON). */
  pontage: Schema.optionalKey(
    Schema.Struct({ family: Schema.Literals(ChainFamily.families), publicKey: Schema.optionalKey(hex(32)) })
  )
})

/** A keystore's content. */
export type Keystore = typeof Keystore.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Keystore))

/** A keystore of its text; `undefined` if it is none of this version, with scrypt and AES-128-CTR. */
export const fromText = (text: string): Keystore | undefined => Option.getOrUndefined(decode(text))

/** The family of the key: a keystore of another program holds an EVM key. */
export const familyOf = ({ pontage }: Keystore): ChainFamily.ChainFamily => pontage?.family ?? "evm"

/** The recommended cost of scrypt for keys at rest: 128 MiB and some tenths of a second. */
const cost = { n: 131_072, r: 8, p: 1, dklen: 32 } as const

// Not by Node's own scrypt: OpenSSL refuses some costs of the format's published keystores.
const derived = async (
  password: Redacted.Redacted,
  { n, p, r, salt }: Keystore["crypto"]["kdfparams"]
): Promise<Buffer> => {
  const bytes = new TextEncoder().encode(Redacted.value(password))
  try {
    return Buffer.from(await scryptAsync(bytes, Buffer.from(salt, "hex"), { N: n, r, p, dkLen: cost.dklen }))
  } catch {
    throw unusableWallet(`the wallet's scrypt (n ${n}, r ${r}, p ${p}) cannot be computed here: nothing was signed`)
  }
}

const macOf = (key: Buffer, ciphertext: Buffer): Buffer =>
  Buffer.from(keccak_256(Buffer.concat([key.subarray(16, 32), ciphertext])))

/** The owner of a key, as the file names it. */
export interface Owner {
  readonly family: ChainFamily.ChainFamily
  readonly address: string
  /** 32 bytes, for TON. */
  readonly publicKey?: Uint8Array
}

/** Encrypts a key of 32 bytes. */
export const encrypt = async (
  secret: Redacted.Redacted<Uint8Array>,
  password: Redacted.Redacted,
  { address, family, publicKey }: Owner
): Promise<Keystore> => {
  const kdfparams = { ...cost, salt: randomBytes(32).toString("hex") }
  const key = await derived(password, kdfparams)
  const iv = randomBytes(16)
  const cipher = createCipheriv("aes-128-ctr", key.subarray(0, 16), iv)
  const ciphertext = Buffer.concat([cipher.update(Redacted.value(secret)), cipher.final()])
  return {
    version: 3,
    id: randomUUID(),
    address: family === "evm" ? address.replace(/^0x/, "").toLowerCase() : address,
    crypto: {
      cipher: "aes-128-ctr",
      cipherparams: { iv: iv.toString("hex") },
      ciphertext: ciphertext.toString("hex"),
      kdf: "scrypt",
      kdfparams,
      mac: macOf(key, ciphertext).toString("hex")
    },
    pontage: { family, ...(publicKey && { publicKey: Buffer.from(publicKey).toString("hex") }) }
  }
}

/** The key of a keystore, in hexadecimal. Rejects if the password is not its own. */
export const decrypt = async ({ crypto }: Keystore, password: Redacted.Redacted): Promise<Redacted.Redacted> => {
  const key = await derived(password, crypto.kdfparams)
  const ciphertext = Buffer.from(crypto.ciphertext, "hex")
  if (!timingSafeEqual(macOf(key, ciphertext), Buffer.from(crypto.mac, "hex"))) {
    throw unusableWallet("the password does not open this wallet: nothing was signed")
  }
  const cipher = createDecipheriv("aes-128-ctr", key.subarray(0, 16), Buffer.from(crypto.cipherparams.iv, "hex"))
  return Redacted.make(Buffer.concat([cipher.update(ciphertext), cipher.final()]).toString("hex"))
}
