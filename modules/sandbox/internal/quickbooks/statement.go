package quickbooks

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// statement is a parsed query.
type statement struct {
	kind       *kind
	count      bool // COUNT(*) instead of *
	conditions []condition
	order      *property // nil for the order of the kind
	descending bool
	start      int // from 1
	size       int
}

// comparisons are the operators that are symbols.
var comparisons = []string{"=", "<", ">", "<=", ">="}

// condition compares a member of the rows with one or, for IN, several operands.
type condition struct {
	property property
	operator string // =, <, >, <=, >=, IN or LIKE
	operands []operand
}

// parser reads a statement from its tokens. After a mistake it holds the fault, and
// every further step does nothing.
type parser struct {
	lexer lexer
	token lexeme
	fault *fault
}

// parseStatement reads
//
//	SELECT *|COUNT(*) FROM entity [WHERE condition [AND condition]...]
//	[ORDERBY|ORDER BY member [ASC|DESC]] [STARTPOSITION n] [MAXRESULTS n]
//
// where the last two may change places. Keywords and names are compared without case.
// A statement that has a form of its own is refused with 4000, and one that names what
// is not there with 4001.
func parseStatement(text string) (*statement, *fault) {
	if !utf8.ValidString(text) {
		return nil, unsupported("Invalid byte in a UTF-8 sequence")
	}
	p := &parser{lexer: lexer{rest: text, line: 1, column: 1}}
	p.advance()
	st := &statement{start: 1, size: defaultPage}
	p.keyword("select")
	if p.accept("count") {
		st.count = true
		p.symbol("(")
		p.symbol("*")
		p.symbol(")")
	} else {
		p.symbol("*")
	}
	p.keyword("from")
	p.entity(st)
	if p.accept("where") {
		p.condition(st)
		for p.accept("and") {
			p.condition(st)
		}
	}
	p.order(st)
	p.page(st)
	if p.fault == nil && p.token.kind != endOfStatement {
		p.fault = p.token.unexpected()
	}
	return st, p.fault
}

// advance goes on to the next token.
func (p *parser) advance() {
	if p.fault == nil {
		p.token, p.fault = p.lexer.next()
	}
}

// fail keeps the first mistake.
func (p *parser) fail(f *fault) {
	if p.fault == nil {
		p.fault = f
	}
}

// accept goes past a keyword, and reports whether it was there.
func (p *parser) accept(keyword string) bool {
	if p.fault != nil || !p.token.is(keyword) {
		return false
	}
	p.advance()
	return true
}

// keyword goes past a keyword that must be there.
func (p *parser) keyword(keyword string) {
	if !p.accept(keyword) {
		p.fail(p.token.unexpected())
	}
}

// symbol goes past a symbol that must be there.
func (p *parser) symbol(s string) {
	if !p.token.isSymbol(s) {
		p.fail(p.token.unexpected())
	}
	p.advance()
}

// take goes past a token of a kind that must be there, and returns it.
func (p *parser) take(kind tokenKind) lexeme {
	t := p.token
	if t.kind != kind || kind == word && keywords[strings.ToLower(t.text)] {
		p.fail(t.unexpected())
	}
	p.advance()
	return t
}

func (p *parser) entity(st *statement) {
	name := p.take(word).text
	if p.fault != nil {
		return
	}
	if st.kind = kindByName(name); st.kind == nil {
		p.fail(queryError("Invalid context declaration: " + name))
	}
}

// property reads the name of a member that rows can be compared by.
func (p *parser) property(st *statement) property {
	name := p.take(word).text
	if p.fault != nil {
		return property{}
	}
	found, f := st.kind.property(name)
	if f != nil {
		p.fail(f)
	}
	return found
}

func (p *parser) condition(st *statement) {
	c := condition{property: p.property(st)}
	switch {
	case p.accept("in"):
		c.operator = "IN"
		p.symbol("(")
		p.operand(&c)
		for p.fault == nil && p.token.isSymbol(",") {
			p.advance()
			p.operand(&c)
		}
		p.symbol(")")
	case p.accept("like"):
		c.operator = "LIKE"
		p.operand(&c)
	default:
		if !slices.Contains(comparisons, p.token.text) {
			p.fail(p.token.unexpected())
		}
		c.operator = p.take(symbol).text
		p.operand(&c)
	}
	st.conditions = append(st.conditions, c)
}

// operand reads a value: a text in quotes, or true or false without.
func (p *parser) operand(c *condition) {
	t := p.token
	bare := t.is("true") || t.is("false")
	if p.fault == nil && t.kind != quoted && !bare {
		p.fail(t.unexpected())
	}
	p.advance()
	if p.fault != nil {
		return
	}
	text := t.text
	if bare {
		text = strings.ToLower(text)
	}
	o, f := c.property.operand(c.operator, text)
	if f != nil {
		p.fail(f)
	}
	c.operands = append(c.operands, o)
}

func (p *parser) order(st *statement) {
	switch {
	case p.accept("orderby"):
	case p.accept("order"):
		p.keyword("by")
	default:
		return
	}
	by := p.property(st)
	st.order = &by
	if p.accept("desc") {
		st.descending = true
	} else {
		p.accept("asc")
	}
}

// page reads STARTPOSITION and MAXRESULTS, each once.
func (p *parser) page(st *statement) {
	var started, limited bool
	for {
		switch {
		case !started && p.accept("startposition"):
			started = true
			st.start = p.number(maxInt)
		case !limited && p.accept("maxresults"):
			limited = true
			st.size = p.number(maxPage)
		default:
			return
		}
	}
}

const maxInt = 1<<31 - 1

// number reads a number from 1 to most.
func (p *parser) number(most int) int {
	text := p.take(number).text
	if p.fault != nil {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case strings.HasPrefix(text, "-") || err == nil && n < 1:
		p.fail(queryError("value " + text + " is too small. Min allowed value is 1"))
	case err != nil || n > int64(most):
		p.fail(queryError("value " + text + " is too large. Max allowed value is " + strconv.Itoa(most)))
	}
	return int(n)
}
