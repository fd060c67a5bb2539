/** A tronweb wallet on the local node, as effects. The node's responses are decoded. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { TronWeb, type Types } from "tronweb"

import type { TestAccount } from "../../src/testing/TronTestAccounts.ts"

/** Start time of chains whose clock stands still. */
export const startTime = 1_800_000_000_000

/** tronweb for one account. */
export const make = (rpcUrl: string, { privateKey }: TestAccount): TronWeb =>
  new TronWeb({ fullHost: rpcUrl, privateKey, disablePlugins: true })

/** The JSON of the node's response to a request. */
export const ask = (rpcUrl: string, path: string, body: unknown = {}) =>
  Effect.promise(async (): Promise<unknown> => {
    const response = await fetch(`${rpcUrl}/${path}`, { method: "POST", body: JSON.stringify(body) })
    return response.json()
  })

const decodeBroadcast = Schema.decodeUnknownEffect(
  Schema.Struct({ result: Schema.Boolean, code: Schema.String, message: Schema.String, txid: Schema.String })
)

/** Broadcasts signed bytes. */
export const broadcastHex = (rpcUrl: string, transaction: string) =>
  Effect.flatMap(ask(rpcUrl, "wallet/broadcasthex", { transaction }), (response) =>
    Effect.orDie(decodeBroadcast(response))
  )

const decodeInfo = Schema.decodeUnknownEffect(
  Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    fee: Schema.optionalKey(Schema.Finite),
    blockNumber: Schema.optionalKey(Schema.Finite),
    contract_address: Schema.optionalKey(Schema.String),
    result: Schema.optionalKey(Schema.String),
    resMessage: Schema.optionalKey(Schema.String),
    receipt: Schema.optionalKey(Schema.Record(Schema.String, Schema.Union([Schema.Finite, Schema.String]))),
    log: Schema.optionalKey(
      Schema.Array(Schema.Struct({ address: Schema.String, topics: Schema.Array(Schema.String), data: Schema.String }))
    )
  })
)

/** The information about a transaction; `walletsolidity` reads the solidified state. */
export const information = (rpcUrl: string, value: string, area: "wallet" | "walletsolidity" = "wallet") =>
  Effect.flatMap(ask(rpcUrl, `${area}/gettransactioninfobyid`, { value }), (response) =>
    Effect.orDie(decodeInfo(response))
  )

/** Builds the call of a contract, on the newest block. */
export const buildCall = (
  wallet: TronWeb,
  contract: string,
  signature: string,
  parameters: Array<Types.ContractFunctionParameter>,
  options: Types.TriggerSmartContractOptions = {}
) =>
  Effect.promise(async () => {
    const { transaction } = await wallet.transactionBuilder.triggerSmartContract(
      contract,
      signature,
      { feeLimit: 100_000_000, ...options },
      parameters
    )
    return transaction
  })

/** Builds a token's transfer. */
export const buildTransfer = (
  wallet: TronWeb,
  contract: string,
  to: string,
  value: bigint,
  options: Types.TriggerSmartContractOptions = {}
) => {
  const parameters = [
    { type: "address", value: to },
    { type: "uint256", value: value.toString() }
  ]
  return buildCall(wallet, contract, "transfer(address,uint256)", parameters, options)
}

/** Signs a transaction. */
export const sign = (wallet: TronWeb, transaction: Types.Transaction) =>
  Effect.promise(() => wallet.trx.sign(transaction))

const part = (field: string, hex: string) => {
  const size = hex.length / 2
  const length = size < 128 ? [size] : [(size & 127) | 128, size >> 7]
  return `${field}${length.map((byte) => byte.toString(16).padStart(2, "0")).join("")}${hex}`
}

/** The signed bytes, wrapped as the signed part and its signatures. */
export const bytesOf = (transaction: {
  readonly raw_data_hex: string
  readonly signature: ReadonlyArray<string>
}): string => {
  const signatures = transaction.signature.map((each) => part("12", each.replace(/^0x/, "")))
  return [part("0a", transaction.raw_data_hex), ...signatures].join("").toLowerCase()
}
