/**
 * The one inline script of a page, which loads all others. It is the same on every page of its kind, and its hash stands in the policy;
 * all that it loads is the shop's own. It adds an element, since browsers let a script that is trusted by its hash load others in that way
 * alone. The address begins with the origin: a path that begins with two slashes would name another host.
 */
import { entry } from "#files"

/** Scripts name each other by this mark in place of the page's path. */
const mark = "@paywall/"

/** For a page that was opened by GET: scripts import each other from its address. */
export const byGet = `const s=document.createElement("script");s.type="module";s.src=location.origin+location.pathname+"?pontage-paywall=${entry}";document.head.append(s)`

/**
 * For the page of a form, whose address may be one for POST alone, from which nothing can be imported: each script is requested by POST,
 * and becomes an address of the page's own, in which the marks are such addresses too. `import()` stays in the script itself, because an
 * inline script may import nothing.
 */
export const byPost = `const c={};window.pontagePaywall=n=>c[n]??=(async()=>{const r=await fetch(location.origin+location.pathname+"?pontage-paywall="+n,{method:"POST"});if(!r.ok)throw new Error("the page lacks "+n);let t=(await r.text()).replace(/\\bimport\\((["'])@paywall\\/([\\w.-]+)\\1\\)/g,'window.pontagePaywall("$2").then(u=>import(u))');for(const m of new Set(t.match(/@paywall\\/[\\w.-]+/g)))t=t.replaceAll(m,await window.pontagePaywall(m.slice(9)));return URL.createObjectURL(new Blob([t],{type:"text/javascript"}))})();window.pontagePaywall("${entry}").then(u=>{const s=document.createElement("script");s.type="module";s.src=u;document.head.append(s)})`

/** A script whose imports lead to the page's own path: relative to the script, so that no path can name another host. */
export const placed = (text: string, path: string): string => {
  const segment = path.slice(path.lastIndexOf("/") + 1)
  const address = JSON.stringify(`./${segment}?pontage-paywall=`).slice(1, -1).replaceAll("'", "%27")
  return text.replaceAll(mark, () => address)
}
