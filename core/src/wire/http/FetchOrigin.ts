/** Requests over `fetch`, which every platform has and users may replace. */
import * as Effect from "effect/Effect"

import * as BoundedBody from "./BoundedBody.ts"
import type { HttpResponse, HttpRequest, HttpOrigin } from "./HttpRequest.ts"

/**
 * The server at an origin (`https://node.example:8545`). The `fetch` must honour `redirect` and `signal`; default: the
 * platform's.
 */
export const at = (origin: string, fetch: typeof globalThis.fetch = globalThis.fetch): HttpOrigin => ({
  send: (call) =>
    Effect.tryPromise({
      try: (signal) => exchange(origin, call, fetch, signal),
      catch: (reason) => reason
    })
})

const exchange = async (
  origin: string,
  { body, headers, maximumBytes, method, path, redirect }: HttpRequest,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal
): Promise<HttpResponse> => {
  const sent = { method, headers, redirect, signal, ...(body !== undefined && { body }) }
  const response = await fetch(origin + path, sent)
  return {
    // Browsers hide the status of what they do not follow.
    status: response.type === "opaqueredirect" ? 302 : response.status,
    contentType: response.headers.get("content-type") ?? undefined,
    body: await BoundedBody.ofResponse(response, maximumBytes)
  }
}
