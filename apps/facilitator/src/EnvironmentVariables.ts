/**
 * The environment variables of the service: what each must be, with an example, and how it is read. A mistake never shows
 * the value, which may be a secret.
 */
import { Misconfigured } from "@pontage/core"
import { batchSettlerAddress } from "@pontage/evm"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import * as CallerFile from "./CallerFile.ts"
import * as EvmTerms from "./EvmTerms.ts"
import { placesOf } from "./SchemaPlaces.ts"
import * as StoreSettings from "./StoreSettings.ts"

/** Digits only: the number of an empty text would be zero. */
const integer = (minimum: number, maximum: number) =>
  Schema.String.check(Schema.isPattern(/^[0-9]{1,9}$/)).pipe(
    Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum, maximum })))
  )

const boolean = Schema.Literals(["true", "false"])
const bounded = ({ maximum, minimum }: { readonly minimum: number; readonly maximum: number }) =>
  integer(minimum, maximum)
const evmAsset = Schema.Struct({
  network: EvmTerms.EvmNetworkText,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  name: Schema.NonEmptyString,
  version: Schema.String
})

/** Reads one variable; `undefined` where it is not set. An empty one is set, and wrong. */
const variable =
  <S extends Schema.ConstraintDecoder<unknown>>(name: string, expected: string, example: string, schema: S) =>
  (): Effect.Effect<S["Type"] | undefined, Misconfigured> => {
    const message = `${name}: expected ${expected}; for example ${name}=${example}`
    const decode = Schema.decodeUnknownEffect(schema, { errors: "all", onExcessProperty: "error" })
    return Config.option(Config.Redacted(name)).pipe(
      Effect.flatMap(
        Option.match({
          onNone: () => Effect.undefined,
          onSome: (text) => decode(Redacted.value(text))
        })
      ),
      Effect.mapError((error) => {
        const places = error._tag === "SchemaError" ? placesOf(error.issue).filter((place) => place !== "") : []
        const where = places.map((place) => `; ${place} is missing or not as described`)
        return new Misconfigured({ message: `${message}${where.join("")}` })
      })
    )
  }

/**
 * All variables, by their names.
 *
 * @category constants
 */
export const environmentVariables = {
  HOST: variable("HOST", "an address to listen on", "127.0.0.1", Schema.NonEmptyString),
  PORT: variable("PORT", "a port from 0 to 65535", "4021", integer(0, 65_535)),
  PONTAGE_STORE: variable(
    "PONTAGE_STORE",
    "memory, sqlite: and a file, or the postgres:// address of a database",
    "sqlite:./payments.sqlite",
    Schema.String.check(Schema.makeFilter(StoreSettings.isStoreText))
  ),
  PONTAGE_CALLERS_FILE: variable(
    "PONTAGE_CALLERS_FILE",
    "the path of a JSON file of callers",
    "./callers.json",
    Schema.NonEmptyString
  ),
  PONTAGE_API_KEYS: variable(
    "PONTAGE_API_KEYS",
    "a JSON list of keys of at least 16 printable characters or their digests as sha256:<hex>, each a text or an object with key and payees",
    `'["<key>",{"key":"sha256:<hex>","payees":["0x<address>"]}]'`,
    CallerFile.ApiKeysText
  ),
  PONTAGE_RATE: variable(
    "PONTAGE_RATE",
    "requests a second and burst, each from 1 to 999999, with a slash between",
    "100/200",
    CallerFile.RateText
  ),
  PONTAGE_PAYER_RATE: variable(
    "PONTAGE_PAYER_RATE",
    "payments a second and burst, each from 1 to 999999, with a slash between",
    "20/40",
    CallerFile.RateText
  ),
  PONTAGE_WEBHOOK_ALLOW_PRIVATE: variable("PONTAGE_WEBHOOK_ALLOW_PRIVATE", "true or false", "true", boolean),
  PONTAGE_ALLOW_ANONYMOUS: variable("PONTAGE_ALLOW_ANONYMOUS", "true or false", "true", boolean),
  PONTAGE_SETTLE_TIMEOUT_MS: variable(
    "PONTAGE_SETTLE_TIMEOUT_MS",
    "milliseconds from 1000 to 120000",
    "25000",
    integer(1000, 120_000)
  ),
  PONTAGE_EVM_RPC_URL: variable(
    "PONTAGE_EVM_RPC_URL",
    "the http or https address of an EVM node",
    "https://mainnet.base.org",
    EvmTerms.RpcUrl
  ),
  PONTAGE_EVM_NETWORK: variable(
    "PONTAGE_EVM_NETWORK",
    "eip155: and a chain id",
    "eip155:8453",
    EvmTerms.EvmNetworkText
  ),
  PONTAGE_EVM: variable(
    "PONTAGE_EVM",
    "a JSON list of networks with rpcUrl and, optionally, network, maxFeePerGas, finalityDepth, verifyWindowMillis, contractPayers and batches",
    `'[{"network":"eip155:8453","rpcUrl":"https://mainnet.base.org"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(EvmTerms.EvmChainEntry))
  ),
  PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: variable(
    "PONTAGE_EVM_MAX_FEE_PER_GAS_WEI",
    "the most wei that is paid for a unit of gas",
    "500000000000",
    EvmTerms.Wei
  ),
  PONTAGE_EVM_FINALITY_DEPTH: variable(
    "PONTAGE_EVM_FINALITY_DEPTH",
    "blocks from 1 to 100000",
    "64",
    bounded(EvmTerms.bounds.finalityDepth)
  ),
  PONTAGE_EVM_VERIFY_WINDOW_MS: variable(
    "PONTAGE_EVM_VERIFY_WINDOW_MS",
    "milliseconds from 0 to 1000",
    "2",
    bounded(EvmTerms.bounds.verifyWindowMillis)
  ),
  PONTAGE_EVM_CONTRACT_PAYERS: variable("PONTAGE_EVM_CONTRACT_PAYERS", "true or false", "false", boolean),
  PONTAGE_EVM_BATCH_SETTLER: variable(
    "PONTAGE_EVM_BATCH_SETTLER",
    "the address that deploy-settler tells, 0x and 40 hexadecimal digits",
    batchSettlerAddress,
    EvmTerms.ContractAddress
  ),
  PONTAGE_EVM_BATCH_MAXIMUM: variable(
    "PONTAGE_EVM_BATCH_MAXIMUM",
    "payments from 2 to 100",
    "25",
    bounded(EvmTerms.bounds.batchMaximum)
  ),
  PONTAGE_EVM_BATCH_WINDOW_MS: variable(
    "PONTAGE_EVM_BATCH_WINDOW_MS",
    "milliseconds from 0 to 10000",
    "50",
    bounded(EvmTerms.bounds.batchWindowMillis)
  ),
  PONTAGE_EVM_SIGNER_KEY: variable(
    "PONTAGE_EVM_SIGNER_KEY",
    "the private key that pays for gas, 0x and 64 hexadecimal digits, or several separated by commas",
    "0x<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{64}(,0x[0-9a-fA-F]{64})*$/))
  ),
  PONTAGE_EVM_ASSETS: variable(
    "PONTAGE_EVM_ASSETS",
    "a JSON list of tokens to settle beyond the known ones, each with network, address, symbol, decimals, name and version",
    `'[{"network":"eip155:8453","address":"0x<address>","symbol":"EURC","decimals":6,"name":"EURC","version":"2"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(evmAsset))
  ),
  PONTAGE_EVM_MIN_GAS_WEI: variable(
    "PONTAGE_EVM_MIN_GAS_WEI",
    "the wei that each signer must hold for the service to be ready",
    "1000000000000000",
    EvmTerms.Wei
  ),
  PONTAGE_EVM_GAS_CEILING_WEI: variable(
    "PONTAGE_EVM_GAS_CEILING_WEI",
    "the wei that settling may cost on each network in 24 hours",
    "100000000000000000",
    EvmTerms.Wei
  )
}
