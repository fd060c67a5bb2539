/**
 * The way of the real scheme to the nodes of a simulated EVM chain: its requests over HTTP are exchanges on a process's wire, each
 * answered by the node it is configured with or by the one that a load balancer draws.
 */
import { HttpOrigin } from "@pontage/core"
import { EvmCrypto, EvmHex } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { NetworkLink } from "../world/NetworkLink.ts"
import type { RpcResponse } from "./model/EvmModelRpc.ts"
import * as SimulatedEvmPeople from "./SimulatedEvmPeople.ts"

/** The address of the nodes. */
export const rpcUrl = "http://nodes.example"

/** A request to a node, and its answer; `undefined` where none comes. */
export type RequestNode = (method: string, params: ReadonlyArray<unknown>) => RpcResponse | undefined

/** Has an effect of the scheme ask these nodes, over this wire. */
export const over = <A, E, R>(
  link: NetworkLink,
  ask: RequestNode,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  effect.pipe(
    Effect.provideService(HttpOrigin.HttpOrigins, () => originOf(link, ask)),
    Effect.provideService(EvmCrypto.EvmCrypto, SimulatedEvmPeople.crypto())
  )

const decodeRequest = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({ id: Schema.Number, method: Schema.String, params: Schema.Array(Schema.Unknown) })
  )
)

const originOf = (link: NetworkLink, ask: RequestNode): HttpOrigin.HttpOrigin => ({
  send: ({ body = "" }) =>
    Effect.suspend(() => {
      const { id, method, params } = decodeRequest(body)
      return Effect.flatMap(
        link.exchange(nameOf(method), () => ask(method, params)),
        (answer) => (answer === undefined ? Effect.fail(gone) : Effect.succeed(replyOf(id, answer)))
      )
    })
})

/** Sending has the name that other chains have for it: plans strike there. */
const nameOf = (method: string): string => (method === "eth_sendRawTransaction" ? "chain.submit" : `chain.${method}`)

const gone = new Error("the connection was closed before an answer came")

const replyOf = (id: number, answer: RpcResponse): HttpOrigin.HttpResponse => ({
  status: 200,
  contentType: "application/json",
  body: { _tag: "Read", text: JSON.stringify({ jsonrpc: "2.0", id, ...answer }) }
})

/** The bytes of a request that sends a transaction; `undefined` of any other. */
export const bytesOf = (method: string, [bytes]: ReadonlyArray<unknown>): EvmHex.Hex | undefined =>
  method === "eth_sendRawTransaction" && EvmHex.isHex(bytes) ? bytes : undefined
