/** HTML as text, safe by its type: values are escaped unless they are HTML already. */

/** A piece of HTML. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? "")

type Value = string | Html | ReadonlyArray<Html>

const written = (value: Value): string => {
  if (value instanceof Html) return value.text
  return typeof value === "string" ? escaped(value) : value.map(({ text }) => text).join("")
}

/** A template: ``markup`<p>${text}</p>` ``. Not called `html`, since formatters would change what is hashed. */
export const markup = (parts: TemplateStringsArray, ...values: ReadonlyArray<Value>): Html =>
  new Html(parts.map((part, index) => part + (index < values.length ? written(values[index] ?? "") : "")).join(""))

/** JSON for a `<script type="application/json">`: no text in it can end the element or open another. */
export const json = (value: unknown): Html =>
  new Html(
    JSON.stringify(value).replaceAll(
      /[<>&\u2028\u2029]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`
    )
  )
