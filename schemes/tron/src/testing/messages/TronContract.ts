/** The typed parameter of a transaction's one contract, by the contract's name. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TronMessage from "./TronMessage.ts"
import type { ContractName } from "./TronMessageTable.ts"

const text = Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("")))
const integer = Schema.BigInt.pipe(Schema.withDecodingDefaultKey(Effect.succeed(0n)))
const boolean = Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false)))

/** The resources that stake gives. */
export const Resource = Schema.Literals(["BANDWIDTH", "ENERGY"])

/** A resource. */
export type Resource = typeof Resource.Type

const resource = Resource.pipe(Schema.withDecodingDefaultKey(Effect.succeed("BANDWIDTH" as const)))

const Key = Schema.Struct({ address: text, weight: integer })

/** The keys that may sign for an account, with their weights and the threshold. */
export const Permission = Schema.Struct({
  type: Schema.Literals(["Owner", "Witness", "Active"]).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("Owner" as const))
  ),
  id: integer,
  permission_name: text,
  threshold: integer,
  operations: text,
  keys: Schema.Array(Key).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
})

/** A permission. */
export type Permission = typeof Permission.Type

const owner = { owner_address: text }
const receiver = { receiver_address: text }

const isMessage = (input: unknown): input is TronMessage.Message => typeof input === "object" && input !== null
const Abi = Schema.declare(isMessage).pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed({})))

const NewContract = Schema.Struct({
  origin_address: text,
  abi: Abi,
  bytecode: text,
  call_value: integer,
  consume_user_resource_percent: integer,
  name: text,
  origin_energy_limit: integer
})

/** The contracts that the node executes. */
export const TronContract = Schema.Union([
  Schema.TaggedStruct("AccountCreateContract", { ...owner, account_address: text }),
  Schema.TaggedStruct("TransferContract", { ...owner, to_address: text, amount: integer }),
  Schema.TaggedStruct("CreateSmartContract", { ...owner, new_contract: NewContract, call_token_value: integer }),
  Schema.TaggedStruct("TriggerSmartContract", {
    ...owner,
    contract_address: text,
    call_value: integer,
    data: text,
    call_token_value: integer,
    token_id: integer
  }),
  Schema.TaggedStruct("AccountPermissionUpdateContract", {
    ...owner,
    owner: Schema.optionalKey(Permission),
    witness: Schema.optionalKey(Permission),
    actives: Schema.Array(Permission).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
  }),
  Schema.TaggedStruct("FreezeBalanceV2Contract", { ...owner, frozen_balance: integer, resource }),
  Schema.TaggedStruct("UnfreezeBalanceV2Contract", { ...owner, unfreeze_balance: integer, resource }),
  Schema.TaggedStruct("DelegateResourceContract", { ...owner, ...receiver, balance: integer, resource, lock: boolean }),
  Schema.TaggedStruct("UnDelegateResourceContract", { ...owner, ...receiver, balance: integer, resource })
])

/** A contract's parameter. */
export type TronContract = typeof TronContract.Type

/** The parameter of the contract with one name. */
export type ContractOf<Name extends ContractName> = Extract<TronContract, { readonly _tag: Name }>

const decode = Schema.decodeUnknownEffect(TronContract)

/** Decodes a contract's message. */
export const fromMessage = (
  name: ContractName,
  message: TronMessage.Message
): Effect.Effect<TronContract, TronMessage.MessageMalformed> =>
  decode({ ...message, _tag: name }).pipe(
    Effect.mapError(() => new TronMessage.MessageMalformed({ message: `the message is not a valid ${name}` }))
  )
