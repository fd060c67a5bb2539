/** The page's script files by their names, the first of which the page loads; each is text. */
export declare const entry: string
export declare const files: ReadonlyMap<string, string>
