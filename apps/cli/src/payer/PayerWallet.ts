/**
 * The keys that a command may sign with: one for each family of chains, from a file (`--key-file`), a variable, or a keystore. A
 * keystore stays closed until a payment is agreed to.
 */
import { EvmAddress, exactEvm, type EvmSigner } from "@pontage/evm"
import { exactTon, type TonSigner } from "@pontage/ton"
import { exactTron, type TronSigner } from "@pontage/tron"
import * as Redacted from "effect/Redacted"

import { type CommandFailed, misused, unusableWallet } from "../CommandFailed.ts"
import * as ChainFamily from "../wallet/ChainFamily.ts"
import * as Keystore from "../wallet/Keystore.ts"
import * as WalletFolder from "../wallet/WalletFolder.ts"

/** The signers of the families that have a key. */
export interface Signers {
  readonly evm: EvmSigner.EvmSigner
  readonly ton: TonSigner.TonHashSigner
  readonly tron: TronSigner.TronSigner
}

/** A wallet: its source in words, the signer, and how it is opened. */
export interface PayerWallet<Family extends ChainFamily.ChainFamily = ChainFamily.ChainFamily> {
  readonly family: Family
  /** Where the key comes from, for people: `PONTAGE_EVM_KEY`, a path, a name. */
  readonly source: string
  readonly signer: Signers[Family]
  /** Opens it; asks for a password if it needs one. */
  readonly open: () => Promise<void>
}

/** Asks for the password of a wallet; rejects without a terminal. */
export type AskPassword = (wallet: string) => Promise<Redacted.Redacted>

const signerOf: { readonly [Family in ChainFamily.ChainFamily]: (key: Redacted.Redacted) => Signers[Family] } = {
  evm: (key) => exactEvm.localSigner(key),
  ton: (key) => exactTon.localSigner(key),
  tron: (key) => exactTron.localSigner(key)
}

/** A signer by a key in hexadecimal. Fails without the key in the message. */
const readSigner = <Family extends ChainFamily.ChainFamily>(
  family: Family,
  source: string,
  key: Redacted.Redacted
): Signers[Family] => {
  try {
    return signerOf[family](key)
  } catch {
    throw unusableWallet(`${source}: expected a key of 64 hexadecimal digits for ${family}`)
  }
}

const plain = <Family extends ChainFamily.ChainFamily>(
  family: Family,
  source: string,
  text: string
): PayerWallet<Family> => {
  const signer = readSigner(family, source, Redacted.make(text.trim()))
  return { family, source, signer, open: () => Promise.resolve() }
}

/** The wallet of a keystore: known by its address, closed until `open`. */
const sealed = (source: string, keystore: Keystore.Keystore, ask: AskPassword): PayerWallet => {
  const family = Keystore.familyOf(keystore)
  const held: { signer?: Signers[ChainFamily.ChainFamily] } = {}
  const open = async () => {
    held.signer ??= readSigner(family, source, await Keystore.decrypt(keystore, await ask(source)))
    if (addressOf(held.signer) !== addressOf(signer)) {
      throw unusableWallet(`${source}: the key in it is not that of the address ${keystore.address}`)
    }
  }
  const signer = closedSigner(source, keystore, () => {
    if (held.signer === undefined) throw unusableWallet(`${source} is closed`)
    return held.signer
  })
  return { family, source, signer, open }
}

const addressOf = (signer: Signers[ChainFamily.ChainFamily]): string =>
  "publicKey" in signer ? Buffer.from(signer.publicKey).toString("hex") : signer.address

const closedSigner = (
  source: string,
  keystore: Keystore.Keystore,
  opened: () => Signers[ChainFamily.ChainFamily]
): Signers[ChainFamily.ChainFamily] => {
  const wrong = () => unusableWallet(`${source} holds a key of another family`)
  const { address, pontage } = keystore
  if (Keystore.familyOf(keystore) === "ton") {
    if (pontage?.publicKey === undefined) throw unusableWallet(`${source} names no public key`)
    return {
      publicKey: Buffer.from(pontage.publicKey, "hex"),
      sign: async (hash) => {
        const signer = opened()
        if (!("publicKey" in signer)) throw wrong()
        return signer.sign(hash)
      }
    }
  }
  if (Keystore.familyOf(keystore) === "tron") {
    return {
      address,
      signTransaction: async (transaction) => {
        const signer = opened()
        if (!("signTransaction" in signer)) throw wrong()
        return signer.signTransaction(transaction)
      }
    }
  }
  return {
    address: EvmAddress.checksum(evmAddressOf(source, address)),
    signTypedData: async (data) => {
      const signer = opened()
      if (!("signTypedData" in signer)) throw wrong()
      return signer.signTypedData(data)
    }
  }
}

const evmAddressOf = (source: string, text: string) => {
  const address = EvmAddress.fromText(`0x${text.replace(/^0x/, "")}`)
  if (address === undefined) throw unusableWallet(`${source} names no address`)
  return address
}

/** The variables that hold keys. */
export const variables = {
  evm: "PONTAGE_EVM_KEY",
  ton: "PONTAGE_TON_KEY",
  tron: "PONTAGE_TRON_KEY"
} as const satisfies Readonly<Record<ChainFamily.ChainFamily, string>>

const fromFile = (text: string, ask: AskPassword): PayerWallet => {
  const [, word = "evm", path = text] = /^(evm|ton|tron)=(.+)$/.exec(text) ?? []
  const content = WalletFolder.readSecretFile(path)
  const keystore = Keystore.fromText(content)
  return keystore === undefined
    ? plain(ChainFamily.fromText(word) ?? "evm", path, content)
    : sealed(path, keystore, ask)
}

/** Where keys may come from. */
export interface Sources {
  /** `[evm|ton|tron=]path` of files with a key in hexadecimal, or keystores. */
  readonly keyFiles: ReadonlyArray<string>
  /** The name of a keystore; by default the first one of each family. */
  readonly wallet: string | undefined
}

/** The wallets of a command, at most one for each family: files first, then variables, then keystores. */
export const all = ({ keyFiles, wallet }: Sources, ask: AskPassword): ReadonlyArray<PayerWallet> => {
  const stored = WalletFolder.list()
  const named = stored.filter(({ name }) => name === wallet)
  if (wallet !== undefined && named.length === 0) {
    const names = stored.map(({ name }) => name).join(", ") || "none: pontage wallet new"
    throw misused(`no wallet is called "${wallet}"; there are: ${names}`)
  }
  const files = keyFiles.map((text) => fromFile(text, ask))
  const given = ChainFamily.families.flatMap((family) => {
    const text = process.env[variables[family]]
    return text === undefined || text === "" ? [] : [plain(family, variables[family], text)]
  })
  const keystores = [...named, ...stored].map(({ keystore, name }) => sealed(`wallet ${name}`, keystore, ask))
  const found = [...files, ...keystores.slice(0, named.length), ...given, ...keystores]
  return ChainFamily.families.flatMap((family) => found.filter((one) => one.family === family).slice(0, 1))
}

/** The failure where no key can pay. */
export const missing = (family: ChainFamily.ChainFamily, network: string): CommandFailed =>
  unusableWallet(
    `no key pays on ${network}: make a wallet by "pontage wallet new --family ${family}", or set ${variables[family]}`
  )
