/**
 * The environment variables of the service: what each must be, with an example, and how it is read. A mistake never shows
 * the value, which may be a secret.
 */
import { Misconfigured, Network } from "@pontage/core"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import * as CallerFile from "./CallerFile.ts"
import * as StoreSettings from "./StoreSettings.ts"

/** Digits only: the number of an empty text would be zero. */
const integer = (minimum: number, maximum: number) =>
  Schema.String.check(Schema.isPattern(/^[0-9]{1,9}$/)).pipe(
    Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum, maximum })))
  )

const rpcUrl = Schema.String.check(
  Schema.makeFilter((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))
)
const evmNetwork = Network.Network.check(Schema.isPattern(/^eip155:[1-9][0-9]*$/))
const wei = CallerFile.NativeAmountText.pipe(Schema.decodeTo(Schema.BigIntFromString))
const evmChain = Schema.Struct({
  rpcUrl,
  network: Schema.optionalKey(evmNetwork),
  maxFeePerGas: Schema.optionalKey(wei),
  finalityDepth: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))),
  contractPayers: Schema.optionalKey(Schema.Boolean),
  batches: Schema.optionalKey(
    Schema.Struct({
      settler: Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{40}$/)),
      maximum: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 100 }))),
      windowMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })))
    })
  )
})
const evmAsset = Schema.Struct({
  network: evmNetwork,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  name: Schema.NonEmptyString,
  version: Schema.String
})

/**
 * One network of `PONTAGE_EVM`.
 *
 * @category models
 */
export type EvmChainText = typeof evmChain.Type

/** Reads one variable; `undefined` where it is not set. An empty one is set, and wrong. */
const variable =
  <S extends Schema.ConstraintDecoder<unknown>>(name: string, expected: string, example: string, schema: S) =>
  (): Effect.Effect<S["Type"] | undefined, Misconfigured> => {
    const message = `${name}: expected ${expected}; for example ${name}=${example}`
    const decode = Schema.decodeUnknownEffect(schema)
    return Config.option(Config.Redacted(name)).pipe(
      Effect.flatMap(
        Option.match({
          onNone: () => Effect.undefined,
          onSome: (text) => decode(Redacted.value(text))
        })
      ),
      Effect.mapError(() => new Misconfigured({ message }))
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
  PONTAGE_WEBHOOK_ALLOW_PRIVATE: variable(
    "PONTAGE_WEBHOOK_ALLOW_PRIVATE",
    "true or false",
    "true",
    Schema.Literals(["true", "false"])
  ),
  PONTAGE_ALLOW_ANONYMOUS: variable(
    "PONTAGE_ALLOW_ANONYMOUS",
    "true or false",
    "true",
    Schema.Literals(["true", "false"])
  ),
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
    rpcUrl
  ),
  PONTAGE_EVM_NETWORK: variable("PONTAGE_EVM_NETWORK", "eip155: and a chain id", "eip155:8453", evmNetwork),
  PONTAGE_EVM: variable(
    "PONTAGE_EVM",
    "a JSON list of networks with rpcUrl and, optionally, network, maxFeePerGas, finalityDepth, contractPayers and batches",
    `'[{"network":"eip155:8453","rpcUrl":"https://mainnet.base.org"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(evmChain))
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
    wei
  ),
  PONTAGE_EVM_GAS_CEILING_WEI: variable(
    "PONTAGE_EVM_GAS_CEILING_WEI",
    "the wei that settling may cost on each network in 24 hours",
    "100000000000000000",
    wei
  )
}
