/**
 * Settings of `exact` on TON: the node, the relayers that bring payments to their wallets, and the limits on costs and losses.
 */
import { Ed25519, ExactTon, TonNetwork, type TonSigner } from "@pontage/ton"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

import {
  flag,
  make,
  NativeAmount,
  PositiveAmount,
  ProviderKey,
  RpcUrl,
  type Values,
  whole
} from "./EnvironmentVariable.ts"

/** A TON network by any of its names. */
const NetworkText = Schema.String.check(Schema.makeFilter((text) => TonNetwork.fromText(text) !== undefined))

/** Seeds of Ed25519 keys, 32 bytes in hexadecimal, with commas between. */
const Seeds = Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}(,[0-9a-fA-F]{64})*$/))

/** Kinds of signed payments, with commas between; in the order of `ExactTon.Kind`. */
const Kinds = Schema.Literals(["w5-internal", "external", "w5-internal,external", "external,w5-internal"]).pipe(
  Schema.decodeTo(
    Schema.Array(ExactTon.Kind),
    SchemaTransformation.transform({
      decode: (text): ReadonlyArray<ExactTon.Kind> =>
        ExactTon.Kind.literals.filter((kind) => text.split(",").includes(kind)),
      encode: (kinds) => (kinds.length === 2 ? "w5-internal,external" : (kinds[0] ?? "external"))
    })
  )
)

const Jetton = Schema.Struct({
  network: NetworkText,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  dollar: Schema.optionalKey(Schema.Boolean)
})

/** The node, the relayers, and the limits that the service itself keeps. */
const service = {
  rpcUrl: make(
    "PONTAGE_TON_RPC_URL",
    "the http or https address of a TON node's JSON-RPC (toncenter's API v2)",
    "https://toncenter.com/api/v2/jsonRPC",
    RpcUrl
  ),
  apiKey: make(
    "PONTAGE_TON_API_KEY",
    "the key that the node's provider has given you, printable characters without spaces",
    "<key>",
    ProviderKey
  ),
  signerKey: make(
    "PONTAGE_TON_SIGNER_KEY",
    "the seed of the relayer's key, 64 hexadecimal digits, or several separated by commas",
    "<64 hexadecimal digits>",
    Seeds
  ),
  emulation: flag("PONTAGE_TON_EMULATION", "true"),
  minimumGas: make(
    "PONTAGE_TON_MIN_GAS_NANOTON",
    "the nanotons that each relayer must hold for the service to be ready",
    "1000000000",
    NativeAmount
  ),
  gasCeiling: make(
    "PONTAGE_TON_GAS_CEILING_NANOTON",
    "the nanotons that settling may cost in 24 hours",
    "10000000000",
    NativeAmount
  )
}

/** Options of the scheme that differ from its defaults. */
const terms = {
  network: make("PONTAGE_TON_NETWORK", "ton:mainnet, ton:testnet or ton:local", TonNetwork.testnet, NetworkText),
  subwallet: whole("PONTAGE_TON_SUBWALLET", "a number", { minimum: 0, maximum: 32_767 }, "1"),
  assets: make(
    "PONTAGE_TON_ASSETS",
    "a JSON list of Jettons to settle beyond the known ones, each with network, address, symbol, decimals and, optionally, dollar",
    `'[{"network":"ton:mainnet","address":"0:<64 hexadecimal digits>","symbol":"EURT","decimals":6,"dollar":false}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(Jetton))
  ),
  kinds: make("PONTAGE_TON_KINDS", "w5-internal, external, or both with a comma between", "w5-internal", Kinds),
  attachedTon: make(
    "PONTAGE_TON_ATTACHED_NANOTON",
    "the nanotons to attach to each payment, instead of the amount by the chain's prices",
    "50000000",
    PositiveAmount
  ),
  lossBudget: make(
    "PONTAGE_TON_LOSS_BUDGET_NANOTON",
    "the nanotons that failed payments may lose in 24 hours, including those attached to pending payments",
    "2000000000",
    PositiveAmount
  ),
  lossBudgetPerCaller: make(
    "PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON",
    "the nanotons of the loss budget that the payers of one caller may use",
    "1000000000",
    PositiveAmount
  ),
  lossBudgetPerPayer: make(
    "PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON",
    "the nanotons of the loss budget that one payer may use",
    "250000000",
    PositiveAmount
  ),
  externalMinimum: make(
    "PONTAGE_TON_EXTERNAL_MINIMUM",
    "the least amount of a payment by an external message, in the Jetton's smallest unit",
    "10000",
    NativeAmount
  )
}

const batches = {
  maximum: whole("PONTAGE_TON_BATCH_MAXIMUM", "payments", { minimum: 1, maximum: 255 }, "50"),
  windowMillis: whole("PONTAGE_TON_BATCH_WINDOW_MS", "milliseconds", { minimum: 0, maximum: 10_000 }, "250")
}

/** All variables of TON. */
export const tables = { ton: service, tonTerms: terms, tonBatches: batches }

/** Values of these variables. */
export interface TonValues {
  readonly ton: Values<typeof service>
  readonly tonTerms: Values<typeof terms>
  readonly tonBatches: Values<typeof batches>
}

/** TON, where the service settles on it. The URL is redacted because it may hold a provider's key. */
export interface TonSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly apiKey: Redacted.Redacted | undefined
  /** Seeds in hexadecimal; at least one. */
  readonly signerKeys: ReadonlyArray<Redacted.Redacted>
  readonly terms: Values<typeof terms> & { readonly batches: Values<typeof batches> }
  /** Whether each payment is emulated before it is sent: required, never, or where the emulator is installed. */
  readonly emulation: "required" | "never" | "installed"
  /** Least balance of each relayer for the service to be ready, in nanotons. */
  readonly minimumGas: bigint
  /** Most that settling may cost in 24 hours, in nanotons. */
  readonly gasCeiling: bigint | undefined
}

/** With less a relayer cannot bring a single payment to its wallet, in nanotons. */
const defaultMinimumGas = 100_000_000n

/** Settings of these values; `undefined` without a node. */
export const fromValues = ({ ton, tonBatches, tonTerms }: TonValues): TonSettings | undefined => {
  const { apiKey, emulation, gasCeiling, minimumGas = defaultMinimumGas, rpcUrl, signerKey } = ton
  if (rpcUrl === undefined) return undefined
  return {
    rpcUrl: Redacted.make(rpcUrl),
    apiKey: apiKey === undefined ? undefined : Redacted.make(apiKey),
    signerKeys: (signerKey?.split(",") ?? []).map((key) => Redacted.make(key)),
    terms: { ...tonTerms, batches: tonBatches },
    emulation: emulationOf(emulation),
    minimumGas,
    gasCeiling
  }
}

const emulationOf = (wanted: "true" | "false" | undefined): TonSettings["emulation"] => {
  if (wanted === undefined) return "installed"
  return wanted === "true" ? "required" : "never"
}

/** The network that is settled on; `undefined` without a node. */
export const networkOf = ({ ton, tonTerms }: TonValues): string | undefined =>
  ton.rpcUrl === undefined ? undefined : (tonTerms.network ?? TonNetwork.mainnet)

/** Contradictions between the variables of TON. */
export const contradictions = ({ ton }: TonValues): ReadonlyArray<string> =>
  ton.rpcUrl !== undefined && ton.signerKey === undefined
    ? ["PONTAGE_TON_SIGNER_KEY: no relayer; set it to the seed of the wallet that pays for gas"]
    : []

/** The key pair of a seed in hexadecimal. */
export const keyPairOf = (key: Redacted.Redacted): TonSigner.TonKeyPair => {
  const secretKey = Buffer.from(Redacted.value(key), "hex")
  return { secretKey, publicKey: Ed25519.publicKeyOf(secretKey) }
}
