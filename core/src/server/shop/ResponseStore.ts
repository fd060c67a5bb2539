/**
 * The place where a shop keeps served responses (`repeat: "same"`): short texts under names that only the shop can make,
 * each until its time is over. `MemoryResponseStore` keeps them in this process; `adapters/sql` in a file or in a
 * database that several processes of the shop share.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"

type Stored<A> = Effect.Effect<A, FacilitatorUnavailable>

/**
 * The service. Each method is atomic; `until` is an instant in Unix milliseconds, at which the text is gone. A store may
 * drop a text earlier for lack of room: its payer then reads that the payment was used.
 */
export class ResponseStore extends Context.Service<
  ResponseStore,
  {
    /** The text of a name. */
    readonly find: (name: string) => Stored<string | undefined>
    /** Keeps a text under a name, in place of an earlier one. */
    readonly keep: (name: string, text: string, until: number) => Stored<void>
    /** Keeps a text under a name that has none; returns the text that the name has afterwards. */
    readonly keepFirst: (name: string, text: string, until: number) => Stored<string>
    /** Drops the text of a name if it is this one. */
    readonly drop: (name: string, text: string) => Stored<void>
  }
>()("@pontage/core/ResponseStore") {}
