/** Requests of a validation: bounded in time and size, without redirects. */
import { BoundedBody } from "@pontage/core"

const longest = 64 * 1024
const timeoutMillis = 15_000

/** A response with its body, if that is text of at most 64 KiB. */
export interface ShopResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string | undefined
}

/** Sends one. */
export const send = async (url: URL, init: RequestInit, signal: AbortSignal): Promise<ShopResponse> => {
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMillis)])
  const response = await fetch(url, { ...init, redirect: "manual", signal: within })
  const body = await BoundedBody.read(response.body, longest, within)
  const text = body._tag === "Read" ? body.text : undefined
  return { status: response.status, headers: response.headers, text }
}

/** The JSON of a response; `undefined` if it is none. */
export const jsonOf = ({ text }: ShopResponse): unknown => {
  try {
    const json: unknown = JSON.parse(text ?? "")
    return json
  } catch {
    return undefined
  }
}
