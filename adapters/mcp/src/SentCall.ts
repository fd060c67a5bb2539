/**
 * Keeps calls as the server received them, before the schemas of its tools read them. A schema may give the same
 * arguments another default at every call, and a payment for the first would then never fit the second.
 */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { McpError } from "@modelcontextprotocol/sdk/types.js"
import { Misconfigured, MppMeta, MppMetaSeller } from "@pontage/core"

import type { ToolExtra } from "./ToolCall.ts"
import * as ToolResult from "./ToolResult.ts"

/** The parameters of a request handler of the SDK, as far as they are read. */
export type RequestHandler = (request: unknown, extra: ToolExtra) => Promise<unknown>

const sent = new WeakMap<object, unknown>()
const gated = new WeakSet<object>()
/** The names of the sold tools of each watched server. */
const sold = new WeakMap<McpServer, Set<string>>()

/** The arguments as sent; the tool's own arguments if no call was sent and they are unknown. */
export const argumentsOf = (extra: object, got: unknown): unknown => (sent.has(extra) ? sent.get(extra) : got)

/** Marks a call that reached the gate. */
export const pass = (extra: object): void => void gated.add(extra)

/**
 * Watches the calls of a server, which sells a tool of this name. A call of that name that runs without reaching the
 * gate gets no result: another tool has replaced the sold one. Throws `Misconfigured` for a server that is not the
 * SDK's.
 */
export const watch = (server: McpServer, name: string): void => {
  const names = sold.get(server) ?? intercept(server)
  names.add(name)
}

const method = "tools/call"

/** The handlers of a server by the methods of their requests. Throws `Misconfigured` for a server that is not the SDK's. */
export const handlersOf = ({ server }: McpServer): Map<string, RequestHandler> => {
  const handlers: unknown = Reflect.get(server, "_requestHandlers")
  if (handlers instanceof Map && isHandler(handlers.get(method))) return handlers
  throw new Misconfigured({
    message:
      "the server does not keep its handlers as the MCP SDK does, so its calls cannot be priced; use the SDK's McpServer"
  })
}

const intercept = (server: McpServer): Set<string> => {
  const handlers = handlersOf(server)
  const handle = handlers.get(method)
  const names = new Set<string>()
  sold.set(server, names)
  const watched: RequestHandler = async (request, extra) => {
    const { given, name } = partsOf(request)
    sent.set(extra, given)
    const result = await handle?.(request, extra)
    const required = fieldOf(fieldOf(result, "_meta"), MppMeta.requiredKey)
    if (names.has(name) && MppMetaSeller.isData(required) && wantsErrors(server, request)) {
      throw new McpError(MppMetaSeller.codeOf(required), "Payment Required", required)
    }
    return names.has(name) && !gated.has(extra) && !isError(result) ? ToolResult.failure(ungated(name)) : result
  }
  handlers.set(method, watched)
  return names
}

/**
 * Whether a client takes refusals as errors, as the Machine Payments Protocol has them: it has sent a credential, or announced
 * that it speaks the protocol. Clients of x402 read results.
 */
const wantsErrors = ({ server }: McpServer, request: unknown): boolean =>
  fieldOf(fieldOf(fieldOf(request, "params"), "_meta"), MppMeta.credentialKey) !== undefined ||
  fieldOf(server.getClientCapabilities()?.experimental, "payment") !== undefined

const isHandler = (value: unknown): value is RequestHandler => typeof value === "function"

/** Name and arguments of a call; missing arguments equal an empty object for a tool. */
const partsOf = (request: unknown): { readonly name: string; readonly given: unknown } => {
  const params = fieldOf(request, "params")
  return { name: String(fieldOf(params, "name")), given: fieldOf(params, "arguments") ?? {} }
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

const isError = (result: unknown): boolean => fieldOf(result, "isError") === true

const ungated = (name: string): string =>
  `${name} is a paid tool, and was replaced by one without a price: its result is withheld. Register it with the shop, or under another name`
