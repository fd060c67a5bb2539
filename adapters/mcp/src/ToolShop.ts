/** Sells tools of an MCP server: terms with a price, and their `registerTool`, like the SDK's. */
import type { McpServer, RegisteredTool, ToolCallback } from "@modelcontextprotocol/sdk/server/mcp.js"
import type { AnySchema, ZodRawShapeCompat } from "@modelcontextprotocol/sdk/server/zod-compat.js"
import type { ToolAnnotations } from "@modelcontextprotocol/sdk/types.js"
import {
  MetaSeller,
  Misconfigured,
  MppMetaSeller,
  OptionCheck,
  type PricedRoute,
  type RouteConfig,
  routeKeys,
  Seller
} from "@pontage/core"

import * as PaidTool from "./PaidTool.ts"
import * as SentCall from "./SentCall.ts"
import type { ToolExtra } from "./ToolCall.ts"
import * as ToolResult from "./ToolResult.ts"
import * as VoucherRequest from "./VoucherRequest.ts"

/** A tool's schema: a Zod schema, or an object of them. */
export type ToolSchema = ZodRawShapeCompat | AnySchema

/** The configuration of a tool, as `McpServer.registerTool` takes it. */
export interface ToolConfig<Input extends undefined | ToolSchema, Output extends ToolSchema> {
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: Input
  readonly outputSchema?: Output
  readonly annotations?: ToolAnnotations
  readonly _meta?: Record<string, unknown>
}

/**
 * Price and recipient of a call; `getPrice` finds the arguments in `request.body`. `settle: "after-handler"` charges
 * only for a result that is not an error. `binding: "required"` accepts only payments that are signed for this tool and
 * these arguments.
 */
export type ToolTerms = Terms<RouteConfig>

type Terms<Config> = Config extends unknown ? Omit<Config, "dialects" | "cache" | "bind"> : never

/** A price, and the tools that it sells. */
export interface PaidTools {
  /**
   * `server.registerTool(name, config, callback)` with a price: the callback runs for paid calls. A callback that fails
   * after the money has moved is owed: the same payment runs it again. Several servers of one shop (one for each
   * session, or for each request) may register the same tool.
   */
  readonly registerTool: <Output extends ToolSchema, Input extends undefined | ToolSchema = undefined>(
    server: McpServer,
    name: string,
    config: ToolConfig<Input, Output>,
    callback: ToolCallback<Input>
  ) => RegisteredTool
}

/** A shop of tools. */
export interface ToolShop {
  /** Sells tools on these terms. Throws `Misconfigured` for every mistake that is visible without a request. */
  readonly paid: (terms: ToolTerms) => PaidTools
  /** Resolves when all prices are proven against chains and facilitator; rejects with `Misconfigured`. */
  readonly ready: () => Promise<void>
  /** Sends the pending reports and stops; close the servers first. */
  readonly close: () => Promise<void>
}

/**
 * Opens a shop of tools. `origin` is the server's public origin, or for a server on stdio any `https` name of its own:
 * payments are bound to it. Throws `Misconfigured` for a mistake in the options.
 */
export const sellTools = (options: Seller.SellerOptions): ToolShop => {
  const seller = Seller.make(options, { keepsResponses: true })
  return {
    paid: (terms) => paid(seller, terms),
    ready: () => seller.ready(),
    close: () => seller.close()
  }
}

const usual = [MetaSeller.metaSeller]
const withChallenges = [...usual, MppMetaSeller.mppMetaSeller]

/** The dialects of these terms: the Machine Payments Protocol sells what it has a method for, in bound payments. */
const dialectsOf = ({ binding, options }: PricedRoute) =>
  binding !== "off" &&
  options.some(({ extra, network, onward, scheme }) =>
    MppMetaSeller.mppMetaSeller.canOffer(scheme, network, { ...extra, ...onward?.onRecord(1n).extra })
  )
    ? withChallenges
    : usual

/** Tells clients that tools are sold by the protocol; a server that is connected already has told what it does. */
const announce = ({ server }: McpServer): void => {
  if (server.transport !== undefined) return
  server.registerCapabilities({ experimental: { payment: { methods: { evm: { intents: ["charge"] } } } } })
}

/** Terms of HTTP alone. */
const unsold: ReadonlySet<string> = new Set(["dialects", "cache", "bind"])

const toolKeys = routeKeys.filter((key) => !unsold.has(key))

/** A piece that is sold by the byte leaves in parts as vouchers come, and a result does not. */
const bytes =
  'paid tools: metered.unit "byte" is for HTTP responses, which leave in parts; sell a tool by another unit, such as "token"'

const paid = (seller: Seller.Seller, terms: ToolTerms): PaidTools => {
  const fault = OptionCheck.unknownKey(toolKeys, terms)
  if (fault !== undefined) throw new Misconfigured({ message: `paid tools: ${OptionCheck.described(fault)}` })
  if (terms.metered?.unit === "byte") throw new Misconfigured({ message: bytes })
  const dialects = dialectsOf(seller.route("paid tools", { ...terms, dialects: usual }))
  const routes = new Map<string, PricedRoute>()
  const routeOf = (name: string, description: string | undefined): PricedRoute => {
    const known = routes.get(name)
    if (known !== undefined) return known
    const said = description === undefined ? {} : { description: description.slice(0, 1024) }
    const resource = `mcp://tool/${encodeURIComponent(name)}`
    const route = seller.route(`tool ${name}`, { ...said, resource, ...terms, dialects })
    routes.set(name, route)
    return route
  }
  return {
    registerTool: (server, name, config, callback) => {
      const route = routeOf(name, config.description)
      const guard = <Callback extends AnyCallback>(given: Callback): Callback =>
        gated(seller, route, name, given, () => tool)
      const tool = server.registerTool(name, config, guard(callback))
      keepGated(tool, name, guard)
      if (dialects === withChallenges) announce(server)
      SentCall.watch(server, name)
      if (terms.metered !== undefined) VoucherRequest.take(seller, route, server)
      return tool
    }
  }
}

/** A callback that is put in later, by the field or by `update`, is sold like the first. */
const keepGated = (tool: RegisteredTool, name: string, guard: (given: AnyCallback) => AnyCallback): void => {
  let current: unknown = tool.handler
  Object.defineProperty(tool, "handler", {
    enumerable: true,
    configurable: false,
    get: () => current,
    set: (given: unknown) => {
      if (!isCallback(given)) throw notSold(name)
      current = guard(given)
    }
  })
}

type AnyCallback = (...parameters: Array<never>) => unknown

const isCallback = (given: unknown): given is AnyCallback => typeof given === "function"

const notSold = (name: string) =>
  new Misconfigured({ message: `tool ${name}: a paid tool is a function; tasks cannot be sold` })

/** The callbacks behind gates, so that one that is registered again is not paid for twice. */
const behind = new WeakMap<AnyCallback, AnyCallback>()

const task = "createTask"

/**
 * The callback behind the gate. The SDK calls it with the arguments and the extra, or, without a schema, the extra alone. A
 * function that has a task is called by that, past the gate, so it cannot have one, nor get it later.
 */
const gated = <Callback extends AnyCallback>(
  seller: Seller.Seller,
  route: PricedRoute,
  name: string,
  given: Callback,
  tool: () => RegisteredTool
): Callback => {
  if (!isCallback(given) || task in given) throw notSold(name)
  const callback = behind.get(given) ?? given
  const guarded = new Proxy(given, {
    apply: (_, self, parameters) => {
      const extra: ToolExtra = parameters.at(-1)
      const got: unknown = parameters.length > 1 ? parameters[0] : undefined
      SentCall.pass(extra)
      return PaidTool.serve(seller, route, {
        name,
        arguments: got,
        sent: SentCall.argumentsOf(extra, got),
        extra,
        run: async () => ToolResult.checked(await Reflect.apply(callback, self, parameters), tool().outputSchema)
      })
    },
    has: (target, key) => key !== task && Reflect.has(target, key),
    get: (target, key) => (key === task ? undefined : Reflect.get(target, key)),
    defineProperty: () => false
  })
  behind.set(guarded, callback)
  return guarded
}
