/**
 * The ways in which a node lets its clients down, as data: what becomes of one request.
 */
import * as Data from "effect/Data"

/** What becomes of a request. */
export type Fault = Data.TaggedEnum<{
  /** The connection breaks; the chain was not asked. */
  readonly Broken: {}
  /** The connection stays open and nothing comes. */
  readonly Silent: {}
  /** An HTTP status with the API's own body: 429, 500, 503. */
  readonly Status: { readonly status: number }
  /** A load balancer's page with status 200. */
  readonly Garbage: {}
  /** The chain was asked, a message was taken, and the answer gets lost. */
  readonly LostAnswer: {}
  /** A message from outside is answered as if it were taken, and is not. Other requests are answered. */
  readonly Dropped: {}
  /** The answer is right, so many blocks ago. */
  readonly Lagging: { readonly blocks: number }
  /** A well-formed refusal with these words. */
  readonly Refusing: { readonly message: string }
  /** A well-formed answer, to another question. */
  readonly Instead: { readonly result: unknown }
}>

/** The faults: `ToncenterFault.Silent()`, `ToncenterFault.Status({ status: 429 })`. */
export const { Broken, Dropped, Garbage, Instead, Lagging, LostAnswer, Refusing, Silent, Status } =
  Data.taggedEnum<Fault>()
