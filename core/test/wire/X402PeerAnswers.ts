/**
 * The facilitator's responses that published x402 servers accept: version 2 as `@x402/core` 2.27 parses it, version 1 as the
 * schemas and the code of `x402` 1.2 have it. Unknown fields are stripped there; none of ours may be one.
 */
import * as Schema from "effect/Schema"

const optional = Schema.optionalKey
const nullish = <Shape extends Schema.Top>(shape: Shape) => optional(Schema.NullOr(shape))

/** The list of version 1 as far as it is about EVM: its clients and servers refuse a response with any other word. */
export const reasonsV1 = Schema.Literals([
  "insufficient_funds",
  "invalid_exact_evm_payload_authorization_valid_after",
  "invalid_exact_evm_payload_authorization_valid_before",
  "invalid_exact_evm_payload_authorization_value",
  "invalid_exact_evm_payload_signature",
  "invalid_exact_evm_payload_recipient_mismatch",
  "invalid_network",
  "invalid_payload",
  "invalid_payment_requirements",
  "invalid_scheme",
  "invalid_payment",
  "payment_expired",
  "unsupported_scheme",
  "invalid_x402_version",
  "invalid_transaction_state",
  "unexpected_settle_error",
  "unexpected_verify_error",
  "duplicate_settlement"
])

const addressV1 = Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{40}$/))

/** Its own facilitator and its specification write an empty text where a failure has none, and its schema knows none. */
const transactionV1 = Schema.String.check(
  Schema.isPattern(/^$|^0x[a-fA-F0-9]{40}|[A-Za-z0-9][A-Za-z0-9-]{0,34}[A-Za-z0-9]$/)
)

export const networksV1 = [
  "abstract",
  "abstract-testnet",
  "base-sepolia",
  "base",
  "avalanche-fuji",
  "avalanche",
  "iotex",
  "solana-devnet",
  "solana",
  "sei",
  "sei-testnet",
  "polygon",
  "polygon-amoy",
  "peaq",
  "story",
  "educhain",
  "skale-base-sepolia"
] as const

const networkV1 = Schema.Literals(networksV1)

export const verify = {
  1: Schema.Struct({ isValid: Schema.Boolean, invalidReason: optional(reasonsV1), payer: optional(addressV1) }),
  2: Schema.Struct({
    isValid: Schema.Boolean,
    invalidReason: nullish(Schema.String),
    invalidMessage: nullish(Schema.String),
    payer: nullish(Schema.String)
  })
}

export const settle = {
  1: Schema.Struct({
    success: Schema.Boolean,
    errorReason: optional(reasonsV1),
    payer: optional(addressV1),
    transaction: transactionV1,
    network: networkV1
  }),
  2: Schema.Struct({
    success: Schema.Boolean,
    errorReason: nullish(Schema.String),
    errorMessage: nullish(Schema.String),
    payer: nullish(Schema.String),
    transaction: Schema.String,
    network: Schema.String,
    amount: nullish(Schema.String)
  })
}

/** Version 2 takes any version's kinds and skips those of others; version 1 looks for its own by their network. */
export const supported = Schema.Struct({
  kinds: Schema.Array(
    Schema.Struct({
      x402Version: Schema.Number,
      scheme: Schema.String,
      network: Schema.String,
      extra: nullish(Schema.Record(Schema.String, Schema.Json))
    })
  ),
  extensions: Schema.Array(Schema.String),
  signers: Schema.Record(Schema.String, Schema.Array(Schema.String))
})

export const kindV1 = Schema.Struct({
  x402Version: Schema.Literal(1),
  scheme: Schema.Literal("exact"),
  network: networkV1,
  extra: optional(Schema.Record(Schema.String, Schema.Json))
})
