/**
 * The environment variables of TRON: what each must be, with an example.
 */
import * as Schema from "effect/Schema"

import * as EnvironmentVariable from "./EnvironmentVariable.ts"
import * as TronTerms from "./TronTerms.ts"

/** The variables, by their names. */
export const tronVariables = {
  PONTAGE_TRON_RPC_URL: EnvironmentVariable.make(
    "PONTAGE_TRON_RPC_URL",
    "the http or https address of a TRON full node, the part before /wallet",
    "https://api.trongrid.io",
    EnvironmentVariable.RpcUrl
  ),
  PONTAGE_TRON_API_KEY: EnvironmentVariable.make(
    "PONTAGE_TRON_API_KEY",
    "the key that the node's provider has given you, printable characters without spaces",
    "<key>",
    EnvironmentVariable.ProviderKey
  ),
  PONTAGE_TRON_NETWORK: EnvironmentVariable.make(
    "PONTAGE_TRON_NETWORK",
    "tron:mainnet, tron:nile, tron:shasta or tron:local",
    "tron:nile",
    TronTerms.TronNetworkText
  ),
  PONTAGE_TRON_ASSETS: EnvironmentVariable.make(
    "PONTAGE_TRON_ASSETS",
    "a JSON list of TRC-20 tokens to settle beyond the known ones, each with network, address, symbol, decimals and, optionally, dollar and minFeeLimit in sun as text",
    `'[{"network":"tron:mainnet","address":"T<address>","symbol":"USDD","decimals":18}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(TronTerms.TronAssetEntry))
  ),
  PONTAGE_TRON_FINALITY: EnvironmentVariable.make(
    "PONTAGE_TRON_FINALITY",
    "included or solidified",
    "solidified",
    TronTerms.Finality
  ),
  PONTAGE_TRON_MAX_FEE_LIMIT_SUN: EnvironmentVariable.make(
    "PONTAGE_TRON_MAX_FEE_LIMIT_SUN",
    "the highest fee limit that is taken, in sun",
    "100000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TRON_PAYER_IN_FLIGHT: EnvironmentVariable.make(
    "PONTAGE_TRON_PAYER_IN_FLIGHT",
    "payments from 1 to 256",
    "8",
    EnvironmentVariable.integer(TronTerms.bounds.inFlight)
  ),
  PONTAGE_TRON_CALLER_IN_FLIGHT: EnvironmentVariable.make(
    "PONTAGE_TRON_CALLER_IN_FLIGHT",
    "payments from 1 to 256",
    "128",
    EnvironmentVariable.integer(TronTerms.bounds.inFlight)
  ),
  PONTAGE_TRON_SPONSOR_KEY: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_KEY",
    "the private key of the account that lends energy, 64 hexadecimal digits",
    "<64 hexadecimal digits>",
    TronTerms.SponsorKey
  ),
  PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT",
    "the most energy that is lent for one payment",
    "150000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY",
    "the most energy that is lent in 24 hours",
    "10000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER",
    "payments from 1 to 1000000",
    "100",
    EnvironmentVariable.integer(TronTerms.bounds.paymentsPerPayer)
  ),
  PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER",
    "the most energy that is lent to one payer in 24 hours",
    "200000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER",
    "the most energy that is lent to the payers of one caller in 24 hours",
    "2500000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TRON_SPONSOR_ENERGY_LOST: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_ENERGY_LOST",
    "the most energy that loans may lose in 24 hours to payers who use it otherwise",
    "2000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TRON_SPONSOR_BAN_MS: EnvironmentVariable.make(
    "PONTAGE_TRON_SPONSOR_BAN_MS",
    "milliseconds from 0 to 31536000000",
    "86400000",
    EnvironmentVariable.integer(TronTerms.bounds.banMillis)
  ),
  PONTAGE_TRON_MIN_GAS_SUN: EnvironmentVariable.make(
    "PONTAGE_TRON_MIN_GAS_SUN",
    "the sun that the sponsor must hold for the service to be ready",
    "100000000",
    EnvironmentVariable.NativeAmount
  ),
  PONTAGE_TRON_GAS_CEILING_SUN: EnvironmentVariable.make(
    "PONTAGE_TRON_GAS_CEILING_SUN",
    "the sun that sponsoring may cost in 24 hours",
    "1000000000",
    EnvironmentVariable.NativeAmount
  )
}
