/** `pontage wallet new|list|balance|fund`: encrypted keys in this person's folder. */
import { randomBytes } from "node:crypto"

import { exactEvm } from "@pontage/evm"
import { TonNetwork, TonWallet, exactTon } from "@pontage/ton"
import { exactTron } from "@pontage/tron"
import * as Redacted from "effect/Redacted"

import { misused, unusableWallet } from "../CommandFailed.ts"
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as PayerNetworks from "../payer/PayerNetworks.ts"
import * as Question from "../terminal/Question.ts"
import * as QuoteText from "../terminal/QuoteText.ts"
import * as Screen from "../terminal/Screen.ts"
import * as ChainFamily from "../wallet/ChainFamily.ts"
import * as Keystore from "../wallet/Keystore.ts"
import * as LocalFaucet from "../wallet/LocalFaucet.ts"
import * as TokenBalance from "../wallet/TokenBalance.ts"
import * as WalletFolder from "../wallet/WalletFolder.ts"
import type { CommandContext } from "./CommandContext.ts"
import * as PayerOptions from "./PayerOptions.ts"

const { network, "password-file": passwordFile, rpc } = PayerOptions.table

/** The options. */
export const table = {
  family: { value: "evm|ton|tron", help: "new: the family of chains; default evm" },
  from: { value: "path", help: "new: a file with the key, 64 hexadecimal digits; default: a new random key" },
  "password-file": passwordFile,
  network: { ...network, help: "balance: the networks; default the usual ones of the wallet's family" },
  rpc: { ...rpc, help: "balance, fund: the node of a network" },
  amount: { value: "dollars", help: "fund: test dollars of the local chain; default 100" }
} as const satisfies CommandLine.OptionTable

type Values = CommandLine.Values<typeof table>

const print = (text: string): void => void process.stdout.write(`${text}\n`)

/** Runs one of the four. */
export const run = async (args: ReadonlyArray<string>, { signal }: CommandContext): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  const [action, name, ...more] = words
  if (more.length > 0) throw misused("expected at most one name: pontage wallet new|list|balance|fund [name]")
  if (action === "new") await make(name ?? "default", values, signal)
  else if (action === "list") list()
  else if (action === "balance") await balance(name, values)
  else if (action === "fund") await fund(name, values)
  else throw misused("expected pontage wallet new, list, balance or fund")
  return ExitCode.numberOf("done")
}

const shortestPassword = 8

const newPassword = async (values: Values, signal: AbortSignal): Promise<Redacted.Redacted> => {
  const path = values["password-file"]
  const given =
    path === undefined ? process.env["PONTAGE_PASSWORD"] : WalletFolder.readSecretFile(path).replace(/\r?\n$/, "")
  if (given === undefined && !Screen.make(false).isInteractive) {
    throw unusableWallet("a new wallet needs a password: set PONTAGE_PASSWORD, or give --password-file")
  }
  const password = given ?? (await Question.password("Password of the new wallet", signal))
  if (password.length < shortestPassword) throw unusableWallet(`a password has ${shortestPassword} characters or more`)
  if (given === undefined && (await Question.password("Once more", signal)) !== password) {
    throw unusableWallet("the two passwords differ; nothing was written")
  }
  return Redacted.make(password)
}

/** The public part of a key. */
const ownerOf = (family: ChainFamily.ChainFamily, key: Redacted.Redacted): Keystore.Owner => {
  if (family === "evm") return { family, address: exactEvm.localSigner(key).address }
  if (family === "tron") return { family, address: exactTron.localSigner(key).address }
  const { publicKey } = exactTon.localSigner(key)
  return { family, publicKey, address: TonWallet.w5Address(publicKey, TonNetwork.walletId(TonNetwork.mainnet)) }
}

const keyOf = ({ from }: Values): Redacted.Redacted => {
  if (from === undefined) return Redacted.make(randomBytes(32).toString("hex"))
  const text = WalletFolder.readSecretFile(from).trim().replace(/^0x/, "")
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw unusableWallet(`${from}: expected a key of 64 hexadecimal digits`)
  return Redacted.make(text)
}

const make = async (name: string, values: Values, signal: AbortSignal): Promise<void> => {
  const family = ChainFamily.fromText(values.family ?? "evm")
  if (family === undefined) throw misused(`--family: expected evm, ton or tron, got "${values.family ?? ""}"`)
  if (WalletFolder.list().some((stored) => stored.name === name)) {
    throw unusableWallet(`a wallet is called "${name}" already: give another name, as in pontage wallet new shopping`)
  }
  const key = keyOf(values)
  const owner = ownerOf(family, key)
  const password = await newPassword(values, signal)
  const secret = Redacted.make(Uint8Array.from(Buffer.from(Redacted.value(key), "hex")))
  const path = WalletFolder.add(name, await Keystore.encrypt(secret, password, owner))
  print(owner.address)
  process.stderr.write(
    `The key is encrypted in ${path}.\nKeep a copy of the file and the password: without both the money is lost.\n`
  )
}

/** An address as its chain writes it. */
const addressOf = ({ keystore }: WalletFolder.StoredWallet): string =>
  Keystore.familyOf(keystore) === "evm" ? `0x${keystore.address.replace(/^0x/, "")}` : keystore.address

const list = (): void => {
  const stored = WalletFolder.list()
  if (stored.length === 0) process.stderr.write("No wallet yet: pontage wallet new\n")
  for (const one of stored) {
    print(`${one.name.padEnd(16)} ${Keystore.familyOf(one.keystore).padEnd(5)} ${addressOf(one)}`)
  }
}

/** The wallet of this name, or the first one of the family. */
const walletOf = (name: string | undefined, family: ChainFamily.ChainFamily | undefined): WalletFolder.StoredWallet => {
  const stored = WalletFolder.list()
  const found = stored.find(
    (one) =>
      (name === undefined || one.name === name) && (family === undefined || Keystore.familyOf(one.keystore) === family)
  )
  if (found !== undefined) return found
  const kind = family === undefined ? "" : ` of ${family}`
  throw unusableWallet(
    name === undefined ? `no wallet${kind} yet: pontage wallet new` : `no wallet${kind} is called "${name}"`
  )
}

/** The networks whose balances are shown without `--network`. */
const usual: Readonly<Record<ChainFamily.ChainFamily, ReadonlyArray<string>>> = {
  evm: ["eip155:8453", "eip155:84532", "eip155:31337"],
  ton: ["ton:mainnet", "ton:local"],
  tron: ["tron:mainnet", "tron:nile", "tron:local"]
}

const balance = async (name: string | undefined, values: Values): Promise<void> => {
  const [first] = values.network ?? []
  const wanted = first === undefined ? undefined : familyOf(first)
  const wallet = walletOf(name, wanted ?? (name === undefined && hasEvm() ? "evm" : undefined))
  const family = Keystore.familyOf(wallet.keystore)
  const nodes = PayerNetworks.nodesFrom(values.rpc ?? [])
  const { publicKey } = wallet.keystore.pontage ?? {}
  const owner = { address: addressOf(wallet), publicKey }
  for (const network of values.network ?? usual[family]) {
    const node = nodes[network]
    if (node === undefined) throw misused(`--rpc: no node of ${network} is known; give --rpc ${network}=url`)
    if (familyOf(network) !== family) throw misused(`--network: the wallet ${wallet.name} has no account on ${network}`)
    const reading = TokenBalance.readers[family](network, node, owner)
    // oxlint-disable-next-line no-await-in-loop -- the lines come in the given order
    print(await balanceLine(network, reading, values.network === undefined))
  }
}

const hasEvm = (): boolean => WalletFolder.list().some(({ keystore }) => Keystore.familyOf(keystore) === "evm")

const familyOf = (network: string): ChainFamily.ChainFamily => {
  const family = ChainFamily.ofNetwork(network)
  if (family === undefined) throw misused(`--network: no token is known on "${network}"`)
  return family
}

const balanceLine = async (
  network: string,
  reading: Promise<TokenBalance.TokenBalance>,
  isUsual: boolean
): Promise<string> => {
  try {
    const { amount, asset } = await reading
    return `${network.padEnd(16)} ${QuoteText.decimal(amount, asset.decimals)} ${asset.symbol}`
  } catch (error) {
    if (!isUsual) throw error
    return `${network.padEnd(16)} no answer`
  }
}

const amountOf = (text: string): bigint => {
  const [, whole, fraction = ""] = /^([0-9]{1,6})(?:\.([0-9]{1,6}))?$/.exec(text) ?? []
  if (whole === undefined) throw misused(`--amount: expected dollars up to 999999, got "${text}"`)
  return BigInt(`${whole}${fraction.padEnd(6, "0")}`)
}

const fund = async (name: string | undefined, values: Values): Promise<void> => {
  const wallet = walletOf(name, "evm")
  const text = values.amount ?? "100"
  const node = PayerNetworks.nodesFrom(values.rpc ?? [])["eip155:31337"] ?? ""
  const transaction = await LocalFaucet.mint(node, addressOf(wallet), amountOf(text))
  print(`${text} TUSD for ${addressOf(wallet)} on eip155:31337, in ${transaction}`)
}
