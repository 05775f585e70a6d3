/** A virtual list: only the rows in the window are in the document, and a row that leaves it is thrown away. */
const row_px = 300
const messages = Array.from({ length: 40 }, (_, index) => ({
  id: `m${index}`,
  text: `Message ${index}`,
  isNew: index === 0,
}))
const list = document.getElementById('list')
const space = document.getElementById('space')
const rows = new Map()

space.style.height = `${messages.length * row_px}px`
list.onscroll = draw
document.getElementById('ads').onchange = () => {
  for (const row of rows.values()) row.remove()
  rows.clear()
  draw()
}
draw()

function draw() {
  const first = Math.floor(list.scrollTop / row_px)
  const shown = new Set(messages.slice(first, first + 3))
  for (const [message, row] of rows) if (!shown.has(message)) rows.delete(message) && row.remove()
  for (const message of shown) if (!rows.has(message)) rows.set(message, drawRow(message))
}

function drawRow({ id, text }) {
  const row = Object.assign(document.createElement('article'), { className: 'row', id, textContent: text })
  row.style.top = `${messages.findIndex((message) => message.id === id) * row_px}px`
  list.append(row)
  return row
}
