/**
 * Where the records are kept, as `PONTAGE_STORE` says it: `memory`, `sqlite:<file>`, or the address of a PostgreSQL
 * database, which holds its password.
 */
import * as Redacted from "effect/Redacted"

/** A place for the records. */
export type StoreSettings =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly filename: string }
  | { readonly kind: "postgres"; readonly url: Redacted.Redacted }

/**
 * The place where nothing is said: a file in the working directory, so that records are lost by nobody's forgetting.
 */
export const standard: StoreSettings = { kind: "sqlite", filename: "pontage-payments.sqlite" }

/** Whether a text names a place. */
export const isStoreText = (text: string): boolean =>
  text === "memory" ||
  /^sqlite:[^\0]+$/.test(text) ||
  (/^postgres(ql)?:\/\/[^\s]+$/.test(text) && URL.canParse(text) && new URL(text).host !== "")

/** The place that a text names. */
export const fromText = (text: string): StoreSettings => {
  if (text === "memory") return { kind: "memory" }
  const filename = /^sqlite:(.*)$/s.exec(text)?.[1]
  return filename === undefined
    ? { kind: "postgres", url: Redacted.make(text, { label: "PONTAGE_STORE" }) }
    : { kind: "sqlite", filename }
}
