/**
 * The environment variables of TON: what each must be, with an example.
 */
import { TonNetwork } from "@pontage/ton"
import * as Schema from "effect/Schema"

import * as EnvironmentVariable from "./EnvironmentVariable.ts"
import * as TonTerms from "./TonTerms.ts"

/** The variables, by their names. */
export const tonVariables = {
  PONTAGE_TON_RPC_URL: EnvironmentVariable.make(
    "PONTAGE_TON_RPC_URL",
    "the http or https address of a TON node's JSON-RPC (toncenter's API v2)",
    "https://toncenter.com/api/v2/jsonRPC",
    EnvironmentVariable.RpcUrl
  ),
  PONTAGE_TON_API_KEY: EnvironmentVariable.make(
    "PONTAGE_TON_API_KEY",
    "the key that the node's provider has given you, printable characters without spaces",
    "<key>",
    EnvironmentVariable.ProviderKey
  ),
  PONTAGE_TON_NETWORK: EnvironmentVariable.make(
    "PONTAGE_TON_NETWORK",
    "ton:mainnet, ton:testnet or ton:local",
    TonNetwork.testnet,
    TonTerms.TonNetworkText
  ),
  PONTAGE_TON_SIGNER_KEY: EnvironmentVariable.make(
    "PONTAGE_TON_SIGNER_KEY",
    "the seed of the relayer's key, 64 hexadecimal digits, or several separated by commas",
    "<64 hexadecimal digits>",
    TonTerms.Seeds
  ),
  PONTAGE_TON_SUBWALLET: EnvironmentVariable.make(
    "PONTAGE_TON_SUBWALLET",
    "a number from 0 to 32767",
    "1",
    EnvironmentVariable.integer(TonTerms.bounds.subwallet)
  ),
  PONTAGE_TON_ASSETS: EnvironmentVariable.make(
    "PONTAGE_TON_ASSETS",
    "a JSON list of Jettons to settle beyond the known ones, each with network, address, symbol, decimals and, optionally, dollar",
    `'[{"network":"ton:mainnet","address":"0:<64 hexadecimal digits>","symbol":"EURT","decimals":6,"dollar":false}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(TonTerms.TonAssetEntry))
  ),
  PONTAGE_TON_KINDS: EnvironmentVariable.make(
    "PONTAGE_TON_KINDS",
    "w5-internal, external, or both with a comma between",
    "w5-internal",
    TonTerms.Kinds
  ),
  PONTAGE_TON_ATTACHED_NANOTON: EnvironmentVariable.make(
    "PONTAGE_TON_ATTACHED_NANOTON",
    "the nanotons that are attached to a payment, where it is not what the chain's prices give",
    "50000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TON_LOSS_BUDGET_NANOTON: EnvironmentVariable.make(
    "PONTAGE_TON_LOSS_BUDGET_NANOTON",
    "the nanotons that may be lost to failed payments in 24 hours, with those attached to payments on their way",
    "2000000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON: EnvironmentVariable.make(
    "PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON",
    "the nanotons of the loss budget that the payers of one caller may use",
    "1000000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON: EnvironmentVariable.make(
    "PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON",
    "the nanotons of the loss budget that one payer may use",
    "250000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_TON_EXTERNAL_MINIMUM: EnvironmentVariable.make(
    "PONTAGE_TON_EXTERNAL_MINIMUM",
    "the least amount of a payment by an external message, in the Jetton's smallest unit",
    "10000",
    EnvironmentVariable.NativeAmount
  ),
  PONTAGE_TON_BATCH_MAXIMUM: EnvironmentVariable.make(
    "PONTAGE_TON_BATCH_MAXIMUM",
    "payments from 1 to 255",
    "50",
    EnvironmentVariable.integer(TonTerms.bounds.batchMaximum)
  ),
  PONTAGE_TON_BATCH_WINDOW_MS: EnvironmentVariable.make(
    "PONTAGE_TON_BATCH_WINDOW_MS",
    "milliseconds from 0 to 10000",
    "250",
    EnvironmentVariable.integer(TonTerms.bounds.batchWindowMillis)
  ),
  PONTAGE_TON_EMULATION: EnvironmentVariable.make(
    "PONTAGE_TON_EMULATION",
    "true or false",
    "true",
    EnvironmentVariable.YesOrNo
  ),
  PONTAGE_TON_MIN_GAS_NANOTON: EnvironmentVariable.make(
    "PONTAGE_TON_MIN_GAS_NANOTON",
    "the nanotons that each relayer must hold for the service to be ready",
    "1000000000",
    EnvironmentVariable.NativeAmount
  ),
  PONTAGE_TON_GAS_CEILING_NANOTON: EnvironmentVariable.make(
    "PONTAGE_TON_GAS_CEILING_NANOTON",
    "the nanotons that settling may cost in 24 hours",
    "10000000000",
    EnvironmentVariable.NativeAmount
  )
}
