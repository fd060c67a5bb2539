/**
 * Settings of `exact` on TRON: the node, when a payment counts as made, and the optional sponsor that lends energy to payers.
 * Payers sign and send their own transactions, so the service holds a key only for the sponsor.
 */
import { TronNetwork } from "@pontage/tron"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import {
  make,
  namesSet,
  NativeAmount,
  PositiveAmount,
  ProviderKey,
  RpcUrl,
  type Values,
  whole
} from "./EnvironmentVariable.ts"

/** A TRON network by any of its names. */
const NetworkText = Schema.String.check(Schema.makeFilter((text) => TronNetwork.fromText(text) !== undefined))

/** A private key in hexadecimal, with or without `0x`. */
const PrivateKey = Schema.String.check(Schema.isPattern(/^(0x)?[0-9a-fA-F]{64}$/))

const Trc20 = Schema.Struct({
  network: NetworkText,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  dollar: Schema.optionalKey(Schema.Boolean),
  minFeeLimit: Schema.optionalKey(PositiveAmount)
})

const node = {
  rpcUrl: make(
    "PONTAGE_TRON_RPC_URL",
    "the http or https address of a TRON full node, the part before /wallet",
    "https://api.trongrid.io",
    RpcUrl
  ),
  apiKey: make(
    "PONTAGE_TRON_API_KEY",
    "the key that the node's provider has given you, printable characters without spaces",
    "<key>",
    ProviderKey
  )
}

const pendingPayments = { minimum: 1, maximum: 256 }

/** Options of the scheme that differ from its defaults. */
const terms = {
  network: make("PONTAGE_TRON_NETWORK", "tron:mainnet, tron:nile, tron:shasta or tron:local", "tron:nile", NetworkText),
  assets: make(
    "PONTAGE_TRON_ASSETS",
    "a JSON list of TRC-20 tokens to settle beyond the known ones, each with network, address, symbol, decimals and, optionally, dollar and minFeeLimit in sun as text",
    `'[{"network":"tron:mainnet","address":"T<address>","symbol":"USDD","decimals":18}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(Trc20))
  ),
  finality: make(
    "PONTAGE_TRON_FINALITY",
    "included or solidified",
    "solidified",
    Schema.Literals(["included", "solidified"])
  ),
  maxFeeLimit: make(
    "PONTAGE_TRON_MAX_FEE_LIMIT_SUN",
    "the highest fee limit that is taken, in sun",
    "100000000",
    PositiveAmount
  ),
  maxPendingPerPayer: whole("PONTAGE_TRON_PAYER_IN_FLIGHT", "payments", pendingPayments, "8"),
  maxPendingPerCaller: whole("PONTAGE_TRON_CALLER_IN_FLIGHT", "payments", pendingPayments, "128")
}

const sponsorKey = {
  sponsorKey: make(
    "PONTAGE_TRON_SPONSOR_KEY",
    "the private key of the account that lends energy, 64 hexadecimal digits",
    "<64 hexadecimal digits>",
    PrivateKey
  )
}

/** Limits of the sponsor that differ from the scheme's defaults. */
const limits = {
  maxEnergyPerPayment: make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT",
    "the most energy that is lent for one payment",
    "150000",
    PositiveAmount
  ),
  maxEnergyPerDay: make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY",
    "the most energy that is lent in 24 hours",
    "10000000",
    PositiveAmount
  ),
  maxPaymentsPerPayer: whole(
    "PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER",
    "payments",
    { minimum: 1, maximum: 1_000_000 },
    "100"
  ),
  maxEnergyPerPayer: make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER",
    "the most energy that is lent to one payer in 24 hours",
    "200000",
    PositiveAmount
  ),
  maxEnergyPerCaller: make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER",
    "the most energy that is lent to the payers of one caller in 24 hours",
    "2500000",
    PositiveAmount
  ),
  maxEnergyLost: make(
    "PONTAGE_TRON_SPONSOR_ENERGY_LOST",
    "the most energy that loans may lose in 24 hours to payers who use it for something else",
    "2000000",
    PositiveAmount
  ),
  banMillis: whole("PONTAGE_TRON_SPONSOR_BAN_MS", "milliseconds", { minimum: 0, maximum: 31_536_000_000 }, "86400000")
}

/** Limits on the sponsor's TRX that the service itself keeps. */
const gas = {
  minimumGas: make(
    "PONTAGE_TRON_MIN_GAS_SUN",
    "the sun that the sponsor must hold for the service to be ready",
    "100000000",
    NativeAmount
  ),
  gasCeiling: make(
    "PONTAGE_TRON_GAS_CEILING_SUN",
    "the sun that sponsoring may cost in 24 hours",
    "1000000000",
    NativeAmount
  )
}

/** All variables of TRON. */
export const tables = { tron: { ...node, ...sponsorKey }, tronTerms: terms, tronLimits: limits, tronGas: gas }

/** Values of these variables. */
export interface TronValues {
  readonly tron: Values<(typeof tables)["tron"]>
  readonly tronTerms: Values<typeof terms>
  readonly tronLimits: Values<typeof limits>
  readonly tronGas: Values<typeof gas>
}

/** The sponsor and its limits. */
export interface SponsorSettings {
  readonly key: Redacted.Redacted
  readonly limits: Values<typeof limits>
}

/** TRON, where the service settles on it. The URL is redacted because it may hold a provider's key. */
export interface TronSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly apiKey: Redacted.Redacted | undefined
  readonly terms: Values<typeof terms>
  readonly sponsor: SponsorSettings | undefined
  /** Least balance of the sponsor for the service to be ready, in sun. */
  readonly minimumGas: bigint
  /** Most that sponsoring may cost in 24 hours, in sun. */
  readonly gasCeiling: bigint | undefined
}

/** Pays for the bandwidth of one loan and its return, in sun. */
const defaultMinimumGas = 1_000_000n

/** Settings of these values; `undefined` without a node. */
export const fromValues = ({ tron, tronGas, tronLimits, tronTerms }: TronValues): TronSettings | undefined => {
  const { apiKey, rpcUrl, sponsorKey } = tron
  if (rpcUrl === undefined) return undefined
  return {
    rpcUrl: Redacted.make(rpcUrl),
    apiKey: apiKey === undefined ? undefined : Redacted.make(apiKey),
    terms: tronTerms,
    sponsor: sponsorKey === undefined ? undefined : { key: Redacted.make(sponsorKey), limits: tronLimits },
    minimumGas: tronGas.minimumGas ?? defaultMinimumGas,
    gasCeiling: tronGas.gasCeiling
  }
}

/** The network that is settled on; `undefined` without a node. */
export const networkOf = ({ tron, tronTerms }: TronValues): string | undefined =>
  tron.rpcUrl === undefined ? undefined : (tronTerms.network ?? TronNetwork.mainnet)

/** Contradictions between the variables of TRON. */
export const contradictions = ({ tron, tronGas, tronLimits }: TronValues): ReadonlyArray<string> =>
  tron.sponsorKey !== undefined
    ? []
    : [...namesSet(limits, tronLimits), ...namesSet(gas, tronGas)].map(
        (name) => `${name}: payers pay the chain themselves without PONTAGE_TRON_SPONSOR_KEY; set that too`
      )
