/** The words with which a shop describes itself in its discovery documents. */
import * as OptionCheck from "../../protocol/OptionCheck.ts"

/** Options of the discovery documents of a shop. */
export interface DiscoveryOptions {
  /** Name of the service. */
  readonly title: string
  /** Version of the described interface; default `1.0.0`. */
  readonly version?: string
  readonly description?: string
  /** The operator's address for people: an e-mail address, a URL or both. */
  readonly contact?: { readonly email?: string; readonly url?: string }
  /** Categories of the service, such as `weather`; at most five. */
  readonly categories?: ReadonlyArray<string>
  /** Places of further documents: URLs, or paths of this origin. */
  readonly docs?: { readonly homepage?: string; readonly apiReference?: string }
  /** A paragraph for agents: when to use the service and how. */
  readonly guidance?: string
  /** Whether the shop also serves `/llms.txt`, the same in plain text; default `false`. */
  readonly llms?: boolean
}

const most = (length: number, expected: string, pattern = /\S/) =>
  OptionCheck.given<string>(
    `${expected} of at most ${length} characters`,
    (value) => typeof value === "string" && value.length <= length && pattern.test(value)
  )

const place = most(2048, "a URL, or a path from /,", /^(?:https?:\/\/|\/)\S*$/)

/** The check of the options. */
export const check: OptionCheck.Check<DiscoveryOptions> = /* @__PURE__ */ OptionCheck.options<DiscoveryOptions>({
  title: /* @__PURE__ */ most(200, "the name of the service, a text"),
  version: /* @__PURE__ */ OptionCheck.optional(/* @__PURE__ */ most(64, "a version")),
  description: /* @__PURE__ */ OptionCheck.optional(/* @__PURE__ */ most(4096, "a text")),
  contact: /* @__PURE__ */ OptionCheck.optional(
    /* @__PURE__ */ OptionCheck.options<NonNullable<DiscoveryOptions["contact"]>>({
      email: /* @__PURE__ */ OptionCheck.optional(/* @__PURE__ */ most(254, "an e-mail address", /^\S+@\S+$/)),
      url: /* @__PURE__ */ OptionCheck.optional(/* @__PURE__ */ most(2048, "a URL", /^https?:\/\/\S+$/))
    })
  ),
  categories: /* @__PURE__ */ OptionCheck.optional(
    /* @__PURE__ */ OptionCheck.given(
      "a list of at most five texts of 1 to 32 characters",
      (value) =>
        Array.isArray(value) &&
        value.length <= 5 &&
        value.every((one) => typeof one === "string" && one.length > 0 && one.length <= 32)
    )
  ),
  docs: /* @__PURE__ */ OptionCheck.optional(
    /* @__PURE__ */ OptionCheck.options<NonNullable<DiscoveryOptions["docs"]>>({
      homepage: /* @__PURE__ */ OptionCheck.optional(place),
      apiReference: /* @__PURE__ */ OptionCheck.optional(place)
    })
  ),
  guidance: /* @__PURE__ */ OptionCheck.optional(/* @__PURE__ */ most(4096, "a text")),
  llms: /* @__PURE__ */ OptionCheck.optional(OptionCheck.flag)
})
