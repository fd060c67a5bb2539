/** Reads a stream of server-sent events (WHATWG HTML, 9.2), each up to a limit: a longer one is left out, whatever follows it. */

/** Maximum length of an event, in characters. A signed message takes 2,000. */
export const longestEvent = 65_536

/** An event. */
export interface ServerEvent {
  readonly id: string | undefined
  readonly data: string
}

/** Calls `take` for each event with data until the stream ends; rejects if it breaks. */
export const read = async (stream: ReadableStream<Uint8Array>, take: (event: ServerEvent) => void): Promise<void> => {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  const parser = new EventParser(take)
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
    const { done, value } = await reader.read()
    if (done) return
    parser.add(decoder.decode(value, { stream: true }))
  }
}

class EventParser {
  readonly #take: (event: ServerEvent) => void
  #line = ""
  #data: Array<string> = []
  #length = 0
  #id: string | undefined

  constructor(take: (event: ServerEvent) => void) {
    this.#take = take
  }

  add(text: string): void {
    const lines = text.split(/\r?\n/)
    lines.forEach((line, index) => {
      this.#length += line.length
      if (this.#length <= longestEvent) this.#line += line
      if (index === lines.length - 1) return
      this.#end(this.#line.replace(/\r$/, ""))
      this.#line = ""
    })
  }

  #end(line: string): void {
    if (line !== "") return this.#field(line)
    if (this.#data.length > 0 && this.#length <= longestEvent) this.#take({ id: this.#id, data: this.#data.join("\n") })
    this.#data = []
    this.#length = 0
    this.#id = undefined
  }

  #field(line: string): void {
    const [, name, value = ""] = /^(\w+):? ?(.*)$/.exec(line) ?? []
    if (name === "data") this.#data.push(value)
    if (name === "id") this.#id = value
  }
}
