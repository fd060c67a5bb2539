/**
 * What an operator may set of `exact` on TRON: the node, when a payment counts as made, and the sponsor that lends payers
 * energy, where there is one. Payers sign their transactions themselves, so without a sponsor there is no key here.
 */
import { TronNetwork } from "@pontage/tron"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import { PositiveAmount } from "./EnvironmentVariable.ts"

/** A TRON network by any of its names. */
export const TronNetworkText = Schema.String.check(
  Schema.makeFilter((text) => TronNetwork.fromText(text) !== undefined)
)

/** When a payment counts as made. */
export const Finality = Schema.Literals(["included", "solidified"])

/** A private key in hexadecimal, also behind `0x`. */
export const SponsorKey = Schema.String.check(Schema.isPattern(/^(0x)?[0-9a-fA-F]{64}$/))

/** A token of `PONTAGE_TRON_ASSETS`. */
export const TronAssetEntry = Schema.Struct({
  network: TronNetworkText,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  dollar: Schema.optionalKey(Schema.Boolean),
  minFeeLimit: Schema.optionalKey(PositiveAmount)
})

/** What each number may be. */
export const bounds = {
  banMillis: { minimum: 0, maximum: 31_536_000_000 },
  inFlight: { minimum: 1, maximum: 256 },
  paymentsPerPayer: { minimum: 1, maximum: 1_000_000 }
} as const

/** The variables that say the settings; `undefined` where one is not set. */
export interface TronSettingVariables {
  readonly PONTAGE_TRON_RPC_URL: string | undefined
  readonly PONTAGE_TRON_API_KEY: string | undefined
  readonly PONTAGE_TRON_NETWORK: string | undefined
  readonly PONTAGE_TRON_ASSETS: ReadonlyArray<typeof TronAssetEntry.Type> | undefined
  readonly PONTAGE_TRON_FINALITY: typeof Finality.Type | undefined
  readonly PONTAGE_TRON_MAX_FEE_LIMIT_SUN: bigint | undefined
  readonly PONTAGE_TRON_PAYER_IN_FLIGHT: number | undefined
  readonly PONTAGE_TRON_CALLER_IN_FLIGHT: number | undefined
  readonly PONTAGE_TRON_SPONSOR_KEY: string | undefined
  readonly PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT: bigint | undefined
  readonly PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY: bigint | undefined
  readonly PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER: number | undefined
  readonly PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER: bigint | undefined
  readonly PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER: bigint | undefined
  readonly PONTAGE_TRON_SPONSOR_ENERGY_LOST: bigint | undefined
  readonly PONTAGE_TRON_SPONSOR_BAN_MS: number | undefined
  readonly PONTAGE_TRON_MIN_GAS_SUN: bigint | undefined
  readonly PONTAGE_TRON_GAS_CEILING_SUN: bigint | undefined
}

/** What is set apart from the defaults of the scheme. */
export interface TronTerms {
  readonly network?: string
  readonly assets?: ReadonlyArray<typeof TronAssetEntry.Type>
  readonly finality?: typeof Finality.Type
  /** Sun. */
  readonly maxFeeLimit?: bigint
  readonly maxInFlightPerPayer?: number
  readonly maxInFlightPerCaller?: number
}

/** The sponsor, and how much it lends apart from the defaults of the scheme. */
export interface SponsorSettings {
  readonly key: Redacted.Redacted
  readonly limits: {
    readonly maxEnergyPerPayment?: bigint
    readonly maxEnergyPerDay?: bigint
    readonly maxPaymentsPerPayer?: number
    readonly maxEnergyPerPayer?: bigint
    readonly maxEnergyPerCaller?: bigint
    readonly maxEnergyLost?: bigint
    readonly banMillis?: number
  }
}

/** TRON, where the service settles on it. The address may hold a provider's key, hence it is redacted too. */
export interface TronSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly apiKey: Redacted.Redacted | undefined
  readonly terms: TronTerms
  readonly sponsor: SponsorSettings | undefined
  /** What the sponsor must hold to be ready, in sun. */
  readonly minimumGas: bigint
  /** What sponsoring may cost in 24 hours, in sun. */
  readonly gasCeiling: bigint | undefined
}

/** The bandwidth of lending and taking back, once. */
const defaultMinimumGas = 1_000_000n

/** The settings that the variables say; `undefined` where there is no node. */
export const fromVariables = (variables: TronSettingVariables): TronSettings | undefined => {
  const { PONTAGE_TRON_API_KEY: apiKey, PONTAGE_TRON_RPC_URL: rpcUrl } = variables
  if (rpcUrl === undefined) return undefined
  return {
    rpcUrl: Redacted.make(rpcUrl),
    apiKey: apiKey === undefined ? undefined : Redacted.make(apiKey),
    terms: termsOf(variables),
    sponsor: sponsorOf(variables),
    minimumGas: variables.PONTAGE_TRON_MIN_GAS_SUN ?? defaultMinimumGas,
    gasCeiling: variables.PONTAGE_TRON_GAS_CEILING_SUN
  }
}

const termsOf = ({
  PONTAGE_TRON_ASSETS: assets,
  PONTAGE_TRON_CALLER_IN_FLIGHT: maxInFlightPerCaller,
  PONTAGE_TRON_FINALITY: finality,
  PONTAGE_TRON_MAX_FEE_LIMIT_SUN: maxFeeLimit,
  PONTAGE_TRON_NETWORK: network,
  PONTAGE_TRON_PAYER_IN_FLIGHT: maxInFlightPerPayer
}: TronSettingVariables): TronTerms => ({
  ...(network !== undefined && { network }),
  ...(assets !== undefined && { assets }),
  ...(finality !== undefined && { finality }),
  ...(maxFeeLimit !== undefined && { maxFeeLimit }),
  ...(maxInFlightPerPayer !== undefined && { maxInFlightPerPayer }),
  ...(maxInFlightPerCaller !== undefined && { maxInFlightPerCaller })
})

const sponsorOf = ({
  PONTAGE_TRON_SPONSOR_BAN_MS: banMillis,
  PONTAGE_TRON_SPONSOR_ENERGY_LOST: maxEnergyLost,
  PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER: maxEnergyPerCaller,
  PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY: maxEnergyPerDay,
  PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER: maxEnergyPerPayer,
  PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT: maxEnergyPerPayment,
  PONTAGE_TRON_SPONSOR_KEY: key,
  PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER: maxPaymentsPerPayer
}: TronSettingVariables): SponsorSettings | undefined =>
  key === undefined
    ? undefined
    : {
        key: Redacted.make(key),
        limits: {
          ...(maxEnergyPerPayment !== undefined && { maxEnergyPerPayment }),
          ...(maxEnergyPerDay !== undefined && { maxEnergyPerDay }),
          ...(maxPaymentsPerPayer !== undefined && { maxPaymentsPerPayer }),
          ...(maxEnergyPerPayer !== undefined && { maxEnergyPerPayer }),
          ...(maxEnergyPerCaller !== undefined && { maxEnergyPerCaller }),
          ...(maxEnergyLost !== undefined && { maxEnergyLost }),
          ...(banMillis !== undefined && { banMillis })
        }
      }

const aboutSponsor = [
  "PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT",
  "PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY",
  "PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER",
  "PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER",
  "PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER",
  "PONTAGE_TRON_SPONSOR_ENERGY_LOST",
  "PONTAGE_TRON_SPONSOR_BAN_MS",
  "PONTAGE_TRON_MIN_GAS_SUN",
  "PONTAGE_TRON_GAS_CEILING_SUN"
] as const

/** What the variables of TRON get wrong together. */
export const contradictions = (variables: TronSettingVariables): ReadonlyArray<string> =>
  variables.PONTAGE_TRON_SPONSOR_KEY !== undefined
    ? []
    : aboutSponsor
        .filter((name) => variables[name] !== undefined)
        .map((name) => `${name}: payers pay the chain themselves without PONTAGE_TRON_SPONSOR_KEY; set that too`)
