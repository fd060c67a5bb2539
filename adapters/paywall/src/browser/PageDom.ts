/** Builds the page's elements. Texts are always set as text, never as HTML. */

type Child = Node | string

/** Attributes and properties of an element: `class`, `href`, `disabled`, ... A missing value is left out. */
export type Attributes = Readonly<Record<string, string | boolean | undefined>>

/** An element with attributes and children. */
export const el = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: ReadonlyArray<Child>
): HTMLElementTagNameMap[Tag] => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value)
  element.append(...children)
  return element
}

/** A button that calls a function. */
export const button = (attributes: Attributes, onClick: () => void, ...children: ReadonlyArray<Child>) => {
  const element = el("button", { type: "button", ...attributes }, ...children)
  element.addEventListener("click", onClick)
  return element
}

/** A heading that takes the focus when its view appears, so that a screen reader reads from there. */
export const heading = (text: string): HTMLHeadingElement => el("h2", { tabindex: "-1" }, text)

const place = (id: string): HTMLElement => {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element ${id}`)
  return found
}

/** Puts a view in place of the present one, and moves the focus to its heading unless the page has just loaded. */
export const show = (view: HTMLElement, focused = true): void => {
  place("checkout").replaceChildren(view)
  if (focused) view.querySelector("h2")?.focus()
}

/** Adds to the present view. */
export const extend = (...children: ReadonlyArray<HTMLElement>): void =>
  place("checkout").append(el("div", { class: "more" }, ...children))

/** Has a screen reader say a text. */
export const say = (text: string): void => {
  place("said").textContent = text
}

/** The facts that the server has written into the page. */
export const readFacts = (): unknown => JSON.parse(place("facts").textContent ?? "{}")
