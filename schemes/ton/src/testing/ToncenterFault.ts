/**
 * Faults of a node, as data.
 */
import * as Data from "effect/Data"

/** Fault of one request. */
export type Fault = Data.TaggedEnum<{
  /** The connection breaks before the request reaches the chain. */
  readonly Broken: {}
  /** The connection stays open without a response. */
  readonly Silent: {}
  /** An HTTP status with the API's body: 429, 500, 503. */
  readonly Status: { readonly status: number }
  /** A load balancer's page with status 200. */
  readonly Garbage: {}
  /** The chain serves the request, a message is accepted, and the response gets lost. */
  readonly LostAnswer: {}
  /** A message from outside gets the response of an accepted one, and is dropped. Other requests are served. */
  readonly Dropped: {}
  /** The response is right as of an earlier block, `blocks` blocks ago. */
  readonly Lagging: { readonly blocks: number }
  /** A well-formed error with this text. */
  readonly Refusing: { readonly message: string }
  /** A well-formed response to another request. */
  readonly Instead: { readonly result: unknown }
}>

/** The faults: `ToncenterFault.Silent()`, `ToncenterFault.Status({ status: 429 })`. */
export const { Broken, Dropped, Garbage, Instead, Lagging, LostAnswer, Refusing, Silent, Status } =
  Data.taggedEnum<Fault>()
