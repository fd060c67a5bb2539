/**
 * The settings that a facilitator under trial gets by its environment: its address, its chain, its records, and
 * the fault that is planted in it.
 */
import * as Schema from "effect/Schema"

import { mutationNames } from "../Mutation.ts"

const Store = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("memory") }),
  Schema.Struct({ kind: Schema.Literal("sqlite"), filename: Schema.String }),
  Schema.Struct({
    kind: Schema.Literal("postgres"),
    url: Schema.String,
    /** How leases of lanes are kept, in milliseconds; default the product's. */
    leases: Schema.optionalKey(Schema.Struct({ ttl: Schema.Int, tick: Schema.Int }))
  })
])

/** A caller with a key of its own, and the wei that its payments may cost in gas. */
const TrialCallerTerms = Schema.Struct({
  name: Schema.String,
  key: Schema.String,
  operator: Schema.optionalKey(Schema.Boolean),
  gasCeiling: Schema.optionalKey(Schema.BigIntFromString),
  /** The URL that is notified of ends. */
  webhook: Schema.optionalKey(Schema.String)
})

const Asset = Schema.Struct({
  network: Schema.String,
  address: Schema.String,
  symbol: Schema.String,
  decimals: Schema.Int,
  name: Schema.String,
  version: Schema.String
})

const Bridge = Schema.Struct({
  kind: Schema.optionalKey(Schema.Literals(["oft", "cctp"])),
  network: Schema.String,
  asset: Schema.String,
  bridge: Schema.String,
  endpointId: Schema.Int
})

/** Payments that go on to a second chain, and their deliveries there. */
const Routes = Schema.Struct({
  rpcUrl: Schema.String,
  signerKey: Schema.TemplateLiteral(["0x", Schema.String]),
  /** Of both chains' coins, in millionths of a dollar. */
  coinPrice: Schema.BigIntFromString,
  bridges: Schema.Array(Bridge),
  /** The attester of CCTP. */
  attesterUrl: Schema.optionalKey(Schema.String),
  feeTo: Schema.String,
  pushAfterSeconds: Schema.Int
})

/** Payments that the operator delivers on a second chain from its own money. */
const Inventory = Schema.Struct({
  /** The token there. */
  asset: Asset,
  rpcUrl: Schema.String,
  /** The key that sends the operator's payments there, and the one that signs them. */
  signerKey: Schema.TemplateLiteral(["0x", Schema.String]),
  operatorKey: Schema.TemplateLiteral(["0x", Schema.String]),
  /** In the token's smallest unit. */
  fee: Schema.BigIntFromString,
  perDay: Schema.BigIntFromString,
  /** Blocks until a block there is final. */
  finalityDepth: Schema.Int
})

/** The settings, as the environment variable `TRIAL_SETTINGS` holds them in JSON. */
export const TrialSettings = Schema.Struct({
  port: Schema.Int,
  rpcUrl: Schema.String,
  signerKeys: Schema.Array(Schema.TemplateLiteral(["0x", Schema.String])),
  assets: Schema.Array(Asset),
  store: Store,
  /** Blocks until a block is final. */
  finalityDepth: Schema.Int,
  settleTimeoutMillis: Schema.Int,
  rpcTimeoutMillis: Schema.Int,
  /** Payments travel together through this contract. */
  batchSettler: Schema.optionalKey(Schema.String),
  /** User operations travel together through this contract; without it none are settled. */
  operationSettler: Schema.optionalKey(Schema.String),
  /** Payments by Permit2 travel together through this contract; without it none are settled. */
  permitSettler: Schema.optionalKey(Schema.String),
  /** Accounts that their payment deploys are simulated by this contract. */
  counterfactualSettler: Schema.optionalKey(Schema.String),
  /** Wei for a unit of gas. */
  maxFeePerGas: Schema.optionalKey(Schema.BigIntFromString),
  /** Wei that all payments together may cost in gas. */
  gasCeiling: Schema.optionalKey(Schema.BigIntFromString),
  callers: Schema.optionalKey(Schema.Array(TrialCallerTerms)),
  /** Time that records are kept after everything about them is over, in milliseconds; default for ever. */
  retentionMillis: Schema.optionalKey(Schema.Int),
  /** A shop of payment channels: its payee, the key that authorizes its claims, the age of a charge that is claimed, the validity of a deposit, and its clock. */
  channels: Schema.optionalKey(
    Schema.Struct({
      payTo: Schema.String,
      authorizerKey: Schema.TemplateLiteral(["0x", Schema.String]),
      claimAgeMillis: Schema.Int,
      validSeconds: Schema.Int,
      /** Milliseconds by which the process's clock is ahead of the machine's; behind it if negative. */
      clockAheadMillis: Schema.optionalKey(Schema.Int)
    })
  ),
  routes: Schema.optionalKey(Routes),
  inventory: Schema.optionalKey(Inventory),
  /** Failpoints count passings from the first push of a delivery on. */
  strikesPushes: Schema.optionalKey(Schema.Boolean),
  /** Duration of a failpoint's hang, in milliseconds. */
  hangMillis: Schema.Int
})

export type TrialSettings = typeof TrialSettings.Type

/** Where the records are kept. */
export type StoreChoice = typeof Store.Type

const Text = Schema.fromJsonString(TrialSettings)

/** The settings of their text. Throws where they are none: a mistake of the trial. */
export const fromText = Schema.decodeUnknownSync(Text)

/** The text of settings. */
export const toText = Schema.encodeSync(Text)

/** The planted fault. */
export const MutationName = Schema.Literals(mutationNames)
