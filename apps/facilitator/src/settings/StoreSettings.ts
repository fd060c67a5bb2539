/**
 * Storage of the records, as `PONTAGE_STORE` names it: `memory`, `sqlite:<file>`, or the address of a PostgreSQL database,
 * which contains its password.
 */
import * as Redacted from "effect/Redacted"

/** Storage of the records. */
export type StoreSettings =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly filename: string }
  | { readonly kind: "postgres"; readonly url: Redacted.Redacted }

/** Storage without a setting: a file in the working directory, so that forgetting the setting loses no records. */
export const standard: StoreSettings = { kind: "sqlite", filename: "pontage-payments.sqlite" }

/** Whether a text names a storage. */
export const isStoreText = (text: string): boolean =>
  text === "memory" ||
  /^sqlite:[^\0]+$/.test(text) ||
  (/^postgres(ql)?:\/\/[^\s]+$/.test(text) && URL.canParse(text) && new URL(text).host !== "")

/** Storage that a text names. */
export const fromText = (text: string): StoreSettings => {
  if (text === "memory") return { kind: "memory" }
  const filename = /^sqlite:(.*)$/s.exec(text)?.[1]
  return filename === undefined
    ? { kind: "postgres", url: Redacted.make(text, { label: "PONTAGE_STORE" }) }
    : { kind: "sqlite", filename }
}
