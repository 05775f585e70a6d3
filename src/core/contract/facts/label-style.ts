/** How the ad label above a frame looks: the renderer draws it, and a creative sheet draws the same one. CSS by property. */
type Style = Readonly<Record<string, string>>

export const labelStyle: Style = {
  all: 'initial',
  display: 'block',
  width: 'fit-content',
  'max-width': '100%',
  margin: '0 0 6px',
  padding: '1px 8px',
  'border-radius': '6px',
  background: '#f1f1f4',
  color: '#3f3f46',
  // The size of the wrapper, which a person's own tools may enlarge.
  font: 'inherit',
  'box-sizing': 'border-box',
  'overflow-wrap': 'anywhere',
  visibility: 'inherit',
}

/** Set after it: in browsers with light-dark(), the label follows the page's color-scheme. */
export const labelSchemeStyle: Style = {
  'color-scheme': 'inherit',
  background: 'light-dark(#f1f1f4, #2f2f35)',
  color: 'light-dark(#3f3f46, #e4e4e7)',
}
