/**
 * An endpoint that takes and returns JSON. Its contract is defined once for the API's description and for the decoding and
 * encoding here, which cost a fraction of Effect's own path from body to response.
 */
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"

import type { Malformed, NotJson, TooLarge } from "../http/FacilitatorFault.ts"
import * as RequestBody from "../http/RequestBody.ts"

type Coder = Schema.ConstraintCodec<unknown, unknown>

/** Request and response of an endpoint. */
export interface Contract<Payload extends Coder, Response extends Coder> {
  readonly payload: Payload
  readonly success: Response
}

/** A request whose body is unread. */
interface Unread {
  readonly request: HttpServerRequest.HttpServerRequest
}

/** An endpoint with this contract. A response outside the contract is a defect. */
export const jsonEndpoint = <Payload extends Coder, Response extends Coder, Asked extends Unread, E, R>(
  { payload, success }: Contract<Payload, Response>,
  respond: (payload: Payload["Type"], asked: Asked) => Effect.Effect<Response["Type"], E, R>
): ((asked: Asked) => Effect.Effect<HttpServerResponse.HttpServerResponse, E | Malformed | NotJson | TooLarge, R>) => {
  const read = RequestBody.reader(payload)
  const write = Schema.encodeSync(Schema.toCodecJson(success))
  return (asked) =>
    Effect.flatMap(read(asked.request), (body) =>
      Effect.map(respond(body, asked), (value) => json(JSON.stringify(write(value))))
    )
}

const json = (text: string) => HttpServerResponse.text(text, { contentType: "application/json" })
