/**
 * The environment variables of the service: what each must be, with an example.
 */
import { batchSettlerAddress } from "@pontage/evm"
import * as Schema from "effect/Schema"

import * as CallerFile from "../callers/CallerFile.ts"
import * as BrowserRequest from "../http/BrowserRequest.ts"
import * as EnvironmentVariable from "./EnvironmentVariable.ts"
import * as EvmTerms from "./EvmTerms.ts"
import * as StoreSettings from "./StoreSettings.ts"
import { tonVariables } from "./TonVariables.ts"
import { tronVariables } from "./TronVariables.ts"

const evmAsset = Schema.Struct({
  network: EvmTerms.EvmNetworkText,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  name: Schema.NonEmptyString,
  version: Schema.String
})

/** All variables, by their names. */
export const environmentVariables = {
  HOST: EnvironmentVariable.make("HOST", "an address to listen on", "127.0.0.1", Schema.NonEmptyString),
  PORT: EnvironmentVariable.make(
    "PORT",
    "a port from 0 to 65535",
    "4021",
    EnvironmentVariable.integer({ minimum: 0, maximum: 65_535 })
  ),
  PONTAGE_STORE: EnvironmentVariable.make(
    "PONTAGE_STORE",
    "memory, sqlite: and a file, or the postgres:// address of a database",
    "sqlite:./payments.sqlite",
    Schema.String.check(Schema.makeFilter(StoreSettings.isStoreText))
  ),
  PONTAGE_CALLERS_FILE: EnvironmentVariable.make(
    "PONTAGE_CALLERS_FILE",
    "the path of a JSON file of callers",
    "./callers.json",
    Schema.NonEmptyString
  ),
  PONTAGE_API_KEYS: EnvironmentVariable.make(
    "PONTAGE_API_KEYS",
    "a JSON list of keys of at least 16 printable characters or their digests as sha256:<hex>, each a text or an object with key and payees",
    `'["<key>",{"key":"sha256:<hex>","payees":["0x<address>"]}]'`,
    CallerFile.ApiKeysText
  ),
  PONTAGE_RATE: EnvironmentVariable.make(
    "PONTAGE_RATE",
    "requests a second and burst, each from 1 to 999999, with a slash between",
    "100/200",
    CallerFile.RateText
  ),
  PONTAGE_PAYER_RATE: EnvironmentVariable.make(
    "PONTAGE_PAYER_RATE",
    "payments a second and burst, each from 1 to 999999, with a slash between",
    "20/40",
    CallerFile.RateText
  ),
  PONTAGE_WEBHOOK_ALLOW_PRIVATE: EnvironmentVariable.make(
    "PONTAGE_WEBHOOK_ALLOW_PRIVATE",
    "true or false",
    "true",
    EnvironmentVariable.YesOrNo
  ),
  PONTAGE_ALLOW_ANONYMOUS: EnvironmentVariable.make(
    "PONTAGE_ALLOW_ANONYMOUS",
    "true or false",
    "true",
    EnvironmentVariable.YesOrNo
  ),
  PONTAGE_ALLOWED_HOSTS: EnvironmentVariable.make(
    "PONTAGE_ALLOWED_HOSTS",
    "names, each with a port or for any, separated by commas",
    "facilitator,localhost:8080",
    Schema.String.check(Schema.makeFilter((text) => text.split(",").every(BrowserRequest.isHost)))
  ),
  PONTAGE_MAX_CONNECTIONS: EnvironmentVariable.make(
    "PONTAGE_MAX_CONNECTIONS",
    "connections from 10 to 100000",
    "5000",
    EnvironmentVariable.integer({ minimum: 10, maximum: 100_000 })
  ),
  PONTAGE_REQUEST_TIMEOUT_MS: EnvironmentVariable.make(
    "PONTAGE_REQUEST_TIMEOUT_MS",
    "milliseconds from 1000 to 60000",
    "15000",
    EnvironmentVariable.integer({ minimum: 1000, maximum: 60_000 })
  ),
  PONTAGE_SETTLE_TIMEOUT_MS: EnvironmentVariable.make(
    "PONTAGE_SETTLE_TIMEOUT_MS",
    "milliseconds from 1000 to 120000",
    "25000",
    EnvironmentVariable.integer({ minimum: 1000, maximum: 120_000 })
  ),
  PONTAGE_RETENTION_HOURS: EnvironmentVariable.make(
    "PONTAGE_RETENTION_HOURS",
    "hours from 24 to 876000",
    "9600",
    EnvironmentVariable.integer({ minimum: 24, maximum: 876_000 })
  ),
  PONTAGE_EVM_RPC_URL: EnvironmentVariable.make(
    "PONTAGE_EVM_RPC_URL",
    "the http or https address of an EVM node",
    "https://mainnet.base.org",
    EnvironmentVariable.RpcUrl
  ),
  PONTAGE_EVM_NETWORK: EnvironmentVariable.make(
    "PONTAGE_EVM_NETWORK",
    "eip155: and a chain id",
    "eip155:8453",
    EvmTerms.EvmNetworkText
  ),
  PONTAGE_EVM: EnvironmentVariable.make(
    "PONTAGE_EVM",
    "a JSON list of networks with rpcUrl and, optionally, network, maxFeePerGas, finalityDepth, verifyWindowMillis, contractPayers, knownImplementations, lossBudget, lossBudgetPerCaller, banMillis and batches",
    `'[{"network":"eip155:8453","rpcUrl":"https://mainnet.base.org"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(EvmTerms.EvmChainEntry))
  ),
  PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: EnvironmentVariable.make(
    "PONTAGE_EVM_MAX_FEE_PER_GAS_WEI",
    "the most wei that is paid for a unit of gas",
    "500000000000",
    EnvironmentVariable.NativeAmount
  ),
  PONTAGE_EVM_FINALITY_DEPTH: EnvironmentVariable.make(
    "PONTAGE_EVM_FINALITY_DEPTH",
    "blocks from 1 to 100000",
    "64",
    EnvironmentVariable.integer(EvmTerms.bounds.finalityDepth)
  ),
  PONTAGE_EVM_VERIFY_WINDOW_MS: EnvironmentVariable.make(
    "PONTAGE_EVM_VERIFY_WINDOW_MS",
    "milliseconds from 0 to 1000",
    "2",
    EnvironmentVariable.integer(EvmTerms.bounds.verifyWindowMillis)
  ),
  PONTAGE_EVM_CONTRACT_PAYERS: EnvironmentVariable.make(
    "PONTAGE_EVM_CONTRACT_PAYERS",
    "known, any or none",
    "none",
    EvmTerms.ContractPayers
  ),
  PONTAGE_EVM_KNOWN_IMPLEMENTATIONS: EnvironmentVariable.make(
    "PONTAGE_EVM_KNOWN_IMPLEMENTATIONS",
    "addresses of implementations, or hashes of code, with commas between",
    "0x<address>,0x<hash>",
    EvmTerms.KnownImplementations
  ),
  PONTAGE_EVM_LOSS_BUDGET_WEI: EnvironmentVariable.make(
    "PONTAGE_EVM_LOSS_BUDGET_WEI",
    "the wei that payments which fail on the chain may cost in 24 hours, above zero",
    "100000000000000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI: EnvironmentVariable.make(
    "PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI",
    "the part of the loss budget that the payers of one caller may use, in wei, above zero",
    "25000000000000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_EVM_BAN_MS: EnvironmentVariable.make(
    "PONTAGE_EVM_BAN_MS",
    "milliseconds from 0 to 86400000",
    "3600000",
    EnvironmentVariable.integer(EvmTerms.bounds.banMillis)
  ),
  PONTAGE_EVM_BATCH_SETTLER: EnvironmentVariable.make(
    "PONTAGE_EVM_BATCH_SETTLER",
    "the address that deploy-settler tells, 0x and 40 hexadecimal digits",
    batchSettlerAddress,
    EvmTerms.ContractAddress
  ),
  PONTAGE_EVM_BATCH_MAXIMUM: EnvironmentVariable.make(
    "PONTAGE_EVM_BATCH_MAXIMUM",
    "payments from 2 to 100",
    "50",
    EnvironmentVariable.integer(EvmTerms.bounds.batchMaximum)
  ),
  PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI: EnvironmentVariable.make(
    "PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI",
    "the most wei that a transaction of several payments may cost, above zero",
    "1000000000000000000",
    EnvironmentVariable.PositiveAmount
  ),
  PONTAGE_EVM_BATCH_WINDOW_MS: EnvironmentVariable.make(
    "PONTAGE_EVM_BATCH_WINDOW_MS",
    "milliseconds from 0 to 10000",
    "50",
    EnvironmentVariable.integer(EvmTerms.bounds.batchWindowMillis)
  ),
  PONTAGE_EVM_SIGNER_KEY: EnvironmentVariable.make(
    "PONTAGE_EVM_SIGNER_KEY",
    "the private key that pays for gas, 0x and 64 hexadecimal digits, or several separated by commas",
    "0x<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{64}(,0x[0-9a-fA-F]{64})*$/))
  ),
  PONTAGE_EVM_ASSETS: EnvironmentVariable.make(
    "PONTAGE_EVM_ASSETS",
    "a JSON list of tokens to settle beyond the known ones, each with network, address, symbol, decimals, name and version",
    `'[{"network":"eip155:8453","address":"0x<address>","symbol":"EURC","decimals":6,"name":"EURC","version":"2"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(evmAsset))
  ),
  PONTAGE_EVM_MIN_GAS_WEI: EnvironmentVariable.make(
    "PONTAGE_EVM_MIN_GAS_WEI",
    "the wei that each signer must hold for the service to be ready",
    "1000000000000000",
    EnvironmentVariable.NativeAmount
  ),
  PONTAGE_EVM_GAS_CEILING_WEI: EnvironmentVariable.make(
    "PONTAGE_EVM_GAS_CEILING_WEI",
    "the wei that settling may cost on each network in 24 hours",
    "100000000000000000",
    EnvironmentVariable.NativeAmount
  ),
  ...tonVariables,
  ...tronVariables
}
