/**
 * The caller's own limits of time. The SDK holds them for one request, and a paid call may need several: each gets the time that
 * those before it have left. A call that runs into a limit is over, as that of a free tool is; its payment goes with the next one.
 */
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"

/** The limits of one call, from its first paid request on. */
export class CallLimit {
  readonly #options: RequestOptions | undefined
  #began: number | undefined

  constructor(options: RequestOptions | undefined) {
    this.#options = options
  }

  /** The options of a request that is sent at this time, in Unix milliseconds. Throws the SDK's error if no time is left. */
  at(now: number): RequestOptions | undefined {
    const { maxTotalTimeout, resetTimeoutOnProgress = false, timeout } = this.#options ?? {}
    const spent = now - (this.#began ??= now)
    return {
      ...this.#options,
      ...(timeout !== undefined && !resetTimeoutOnProgress && { timeout: rest(timeout, spent) }),
      ...(maxTotalTimeout !== undefined && { maxTotalTimeout: rest(maxTotalTimeout, spent) })
    }
  }
}

const rest = (limit: number, spent: number): number => {
  if (spent < limit) return limit - spent
  throw McpError.fromError(ErrorCode.RequestTimeout, "Request timed out", { timeout: limit })
}

/** The SDK's message where nothing can be sent. It has no code. */
const unconnected = "Not connected"

/**
 * Whether an error of a request ends its call: a limit of the caller, or a connection that is not there, over which nothing was
 * sent and nothing will be. Compared by its name, because a program may hold two copies of the SDK.
 */
export const isOver = (error: unknown): boolean =>
  error instanceof Error &&
  (error.message === unconnected ||
    (error.name === "McpError" && "code" in error && error.code === ErrorCode.RequestTimeout))
