/** The languages of the page, and the choice between them. */
import { english } from "./English.ts"
import { german } from "./German.ts"
import type { Texts } from "./Texts.ts"

/** The texts by language tag. */
export const languages = { en: english, de: german } as const satisfies Readonly<Record<string, Texts>>

/** A language of the page. */
export type Language = keyof typeof languages

const isLanguage = (tag: string): tag is Language => Object.hasOwn(languages, tag)

/** The first language of `Accept-Language` that the page has, by its order; else English. */
export const preferred = (accepted: string): Language => {
  const tags = accepted.split(",").map((item) => /^\s*([a-z]{2,3})\b/i.exec(item)?.[1]?.toLowerCase() ?? "")
  return tags.find(isLanguage) ?? "en"
}

/** A text with its facts in place. */
export const filled = (text: string, facts: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => facts[name] ?? whole)
