/**
 * An endpoint that is sent JSON and answers JSON. What it takes and answers is said once, for the API's description and for
 * the reading and writing here, which costs a fraction of what the description's own way from body to answer does.
 */
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"

import type { Malformed, NotJson, TooLarge } from "../http/FacilitatorFault.ts"
import * as RequestBody from "../http/RequestBody.ts"

type Coder = Schema.ConstraintCodec<unknown, unknown>

/** What an endpoint takes and what it answers. */
export interface Contract<Payload extends Coder, Answer extends Coder> {
  readonly payload: Payload
  readonly success: Answer
}

/** A request as it comes by the API's description, its body unread. */
interface Unread {
  readonly request: HttpServerRequest.HttpServerRequest
}

/** The endpoint that answers a payload like this. An answer that is none of the contract's is a defect. */
export const answering = <Payload extends Coder, Answer extends Coder, Asked extends Unread, E, R>(
  { payload, success }: Contract<Payload, Answer>,
  answer: (payload: Payload["Type"], asked: Asked) => Effect.Effect<Answer["Type"], E, R>
): ((asked: Asked) => Effect.Effect<HttpServerResponse.HttpServerResponse, E | Malformed | NotJson | TooLarge, R>) => {
  const read = RequestBody.reader(payload)
  const write = Schema.encodeSync(Schema.toCodecJson(success))
  return (asked) =>
    Effect.flatMap(read(asked.request), (body) =>
      Effect.map(answer(body, asked), (value) => json(JSON.stringify(write(value))))
    )
}

const json = (text: string) => HttpServerResponse.text(text, { contentType: "application/json" })
